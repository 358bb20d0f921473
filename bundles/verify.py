"""Whether a stored bundle is what it says it is; for an exported one, reading it tells.

Invariant: what passes has the content that its id was made from, to the last character.
"""

from bundles.assembly import bundle_of
from bundles.errors import StoreError, SuiteError
from bundles.records import Bundle
from bundles.store import Store


def verify_stored(store: Store, ref: str) -> Bundle:
    """A bundle of the store; raises `StoreError` where its content is not that of its id, or not right."""
    try:
        bundle = store.bundle(ref)
    except (KeyError, ValueError, TypeError) as error:
        raise StoreError(
            f"{store.path}: bundle {ref} is damaged, its tables do not belong together: {error}"
        ) from None
    try:
        made = bundle_of(bundle.name, bundle.sessions, bundle.units, bundle.events)
    except SuiteError as error:
        raise StoreError(f"{store.path}: bundle {bundle.bundle_id} is damaged: {error}") from None
    if made.bundle_id != bundle.bundle_id:
        raise StoreError(
            f"{store.path}: bundle {bundle.bundle_id} is damaged, its content is {made.bundle_id}"
        )
    return bundle
