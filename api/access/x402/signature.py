"""The signature of a payment by a plain account, checked without asking anybody (EIP-712 over EIP-3009).

USDC itself applies the same rules: 65 bytes r, s, v, the lower half of s (EIP-2), and the signer is the payer. A
contract wallet signs otherwise (ERC-1271, ERC-6492); only the chain can judge its signature.
"""

from __future__ import annotations

from functools import cache

from api.access.x402.offers import CHAIN_ID, DOMAIN, USDC
from api.access.x402.payload import Payment
from api.ethereum_address import keccak256

_DOMAIN_TYPE = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
_TRANSFER_FIELDS = "address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce"
_TRANSFER_TYPE = f"TransferWithAuthorization({_TRANSFER_FIELDS})"
_HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
_PLAIN_BYTES = 65
_RECOVERY = {0: 0, 1: 1, 27: 0, 28: 1}


_UNDEPLOYED = "6492" * 16
"""The end of a signature by a wallet that is not deployed yet (ERC-6492)."""


def is_by_undeployed_wallet(payment: Payment) -> bool:
    """Whether the signature says that its wallet will be deployed with it."""
    return payment.signature.endswith(_UNDEPLOYED)


def is_plain(payment: Payment) -> bool:
    """Whether the signature has the length of a plain account's."""
    return len(payment.signature) == 2 + 2 * _PLAIN_BYTES


def is_signed_by_payer(payment: Payment) -> bool:
    """Whether the payer's own key made the signature; False for what a contract wallet made."""
    if not is_plain(payment):
        return False
    from coincurve import PublicKey  # loaded only where payments are taken

    signature = bytes.fromhex(payment.signature[2:])
    recovery = _RECOVERY.get(signature[64])
    if recovery is None or int.from_bytes(signature[32:64]) > _HALF_ORDER:
        return False
    try:
        key = PublicKey.from_signature_and_message(signature[:64] + bytes([recovery]), digest(payment), hasher=None)
    except ValueError:
        return False
    return keccak256(key.format(compressed=False)[1:])[12:].hex() == payment.payer[2:]


def digest(payment: Payment) -> bytes:
    """The 32 bytes that are signed: a TransferWithAuthorization in the domain of USDC on Base."""
    numbers = (payment.value, payment.valid_after, payment.valid_before)
    fields = b"".join(
        (
            keccak256(_TRANSFER_TYPE.encode()),
            _word(payment.payer),
            _word(payment.to),
            *(number.to_bytes(32) for number in numbers),
            bytes.fromhex(payment.nonce[2:]),
        )
    )
    return keccak256(b"\x19\x01" + domain_separator() + keccak256(fields))


@cache
def domain_separator() -> bytes:
    """What DOMAIN_SEPARATOR() of USDC on Base answers."""
    names = (keccak256(DOMAIN[name].encode()) for name in ("name", "version"))
    return keccak256(b"".join((keccak256(_DOMAIN_TYPE.encode()), *names, CHAIN_ID.to_bytes(32), _word(USDC))))


def _word(address: str) -> bytes:
    return bytes.fromhex(address[2:]).rjust(32, b"\0")
