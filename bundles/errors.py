"""What can go wrong with bundles. Every message is one line that says what, where and what to do.

BundleError
├── SuiteError             a suite file, a unit or a fact is not what it should be
├── EmptySuite             a suite file holds no unit that can be used
├── UnknownRef             no bundle or run answers to this name, or more than one does
└── StoreError             the store cannot be opened, read or written
    ├── StoreLocked        another process has it open
    └── DuplicateAttempt   this attempt is already stored and went well
"""


class BundleError(Exception):
    """Base of this package's errors."""


class SuiteError(BundleError):
    """A suite file, a unit or a fact is not what it should be."""


class EmptySuite(BundleError):
    """A suite file holds no unit that can be used."""


class UnknownRef(BundleError):
    """No bundle or run answers to this name, or more than one does."""


class StoreError(BundleError):
    """The store cannot be opened, read or written."""


class StoreLocked(StoreError):
    """Another process has the store open."""


class DuplicateAttempt(StoreError):
    """An attempt of this unit, arm and repeat is already stored and went well."""
