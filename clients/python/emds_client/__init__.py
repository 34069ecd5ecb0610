"""Call the Electricity Market Data Service with a typed client, sync or async."""

from .clients import AsyncClient, Client
from .errors import BadRequest, EmdsError, InvalidKey, NotFound, PaymentRequired, TooManyCalls, Unavailable
from .rows import Series
from .steps import Update
from .version import __version__

__all__ = [
    "AsyncClient",
    "BadRequest",
    "Client",
    "EmdsError",
    "InvalidKey",
    "NotFound",
    "PaymentRequired",
    "Series",
    "TooManyCalls",
    "Unavailable",
    "Update",
    "__version__",
]
