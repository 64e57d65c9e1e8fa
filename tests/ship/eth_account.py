"""In place of the package eth-account where it is not installed: the test signs, at SIGNER_URL.

It has what docs/examples/bet.py uses. The test imports it by putting this folder on PYTHONPATH.
"""
import json
import os
import urllib.request


class Key:
    """A key or signature: bytes whose `hex` has no prefix."""

    def __init__(self, text):
        self.text = text

    def hex(self):
        return self.text.removeprefix("0x")


class User:
    address = os.environ["SIGNER_ADDRESS"]
    key = Key("never used: the test has it")


class Signed:
    def __init__(self, signature):
        self.signature = Key(signature)


def without_loss(value):
    """JSON numbers are floating-point numbers for who reads this."""
    return str(value) if isinstance(value, int) else value


class Account:
    @staticmethod
    def create():
        return User

    @staticmethod
    def sign_typed_data(_key, domain, types, message):
        for fields in types.values():
            for field in fields:
                if field["type"].startswith("uint") and not isinstance(message[field["name"]], int):
                    raise TypeError(f"{field['name']} has to be an int")
        (primary_type,) = types
        exact = {name: without_loss(value) for name, value in message.items()}
        body = {"domain": domain, "types": types, "primaryType": primary_type, "message": exact}
        request = urllib.request.Request(os.environ["SIGNER_URL"], json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=10) as response:
            return Signed(response.read().decode())
