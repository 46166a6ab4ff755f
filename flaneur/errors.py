"""The one exception of ours that a user sees: one line that names the file, the field and the remedy."""


class UserError(Exception):
    """Bad input. The command line prints the message alone and exits with code 2."""
