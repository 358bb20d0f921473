"""What can go wrong with bundles. Every message is one line that says what, where and what to do.

BundleError
├── SuiteError             what is imported or exported, a unit or a fact is not what it should be
├── EmptySuite             what is imported holds no unit that can be used
├── UnknownRef             no bundle or run answers to this name, or more than one does
└── StoreError             the store or a journal cannot be opened, read or written
    ├── StoreLocked        another process has it open
    └── JournalUnavailable a journal cannot be written now; what it was given is not in it
"""


class BundleError(Exception):
    """Base of this package's errors."""


class SuiteError(BundleError):
    """What is imported or exported, a unit or a fact is not what it should be."""


class EmptySuite(BundleError):
    """What is imported holds no unit that can be used."""


class UnknownRef(BundleError):
    """No bundle or run answers to this name, or more than one does."""


class StoreError(BundleError):
    """The store or a journal cannot be opened, read or written."""


class StoreLocked(StoreError):
    """Another process has the store or the journal open."""


class JournalUnavailable(StoreError):
    """A journal cannot be written now. What it was given is not acknowledged; it may be given again."""
