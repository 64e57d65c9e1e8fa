"""A whole bet against the plain HTTP API, on a running stack: pip install eth-account."""
import json
import secrets
import time
import urllib.error
import urllib.request

from eth_account import Account

SOLVER = "http://127.0.0.1:3000"
BRIDGE = "http://127.0.0.1:3001"
PROXY = "http://127.0.0.1:8546"
CHAIN_ID = 1337  # the chain of the stack: sign for no other, whatever a service says
user = Account.create()


def call(url, body=None):
    """GETs JSON, or POSTs it; a failure has its reason in `code` and `error`."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)
    except urllib.error.HTTPError as failure:
        raise SystemExit(f"{url} answered {failure.code}: {failure.read().decode()}")
    except urllib.error.URLError as failure:
        raise SystemExit(f"{url} cannot be reached: {failure.reason}")


def rpc(method, *params):
    """Calls the node through the proxy; a refused call answers `error` in place of `result`."""
    answer = call(PROXY, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    if "error" in answer:
        raise SystemExit(f"{method}: {answer['error']['code']} {answer['error']['message']}")
    return answer["result"]


def sign(service, message):
    """Signs a message of the type that a service describes."""
    description = call(f"{service}/typed-data")
    chain_id = description["domain"]["chainId"]
    if chain_id != CHAIN_ID:
        raise SystemExit(f"{service} is of chain {chain_id}: expected {CHAIN_ID}")
    (fields,) = description["types"].values()
    for field in fields:
        if field["type"].startswith("uint"):
            message[field["name"]] = int(message[field["name"]])
    signed = Account.sign_typed_data(
        user.key, description["domain"], description["types"], message
    )
    return "0x" + signed.signature.hex().removeprefix("0x")


def now():
    """Unix time in milliseconds."""
    return int(time.time() * 1000)


deposit = {
    "user": user.address,
    "amount": "100000000",  # 100 USDC: amounts and prices have 6 decimals
    "nonce": str(secrets.randbits(128)),
    "deadline": now() + 60_000,
}
call(f"{BRIDGE}/deposit", {**deposit, "signature": sign(BRIDGE, dict(deposit))})


def bet(lead_ms):
    """Bets on a range around the price."""
    market = rpc("core_getPrices")["ETH/USDT"]
    price = int(market["price"])
    start = now() + lead_ms  # time to sign
    terms = {
        "user": user.address,
        "thesisType": "box",
        "base": market["base"],
        "quote": market["quote"],
        "lowerPrice": str(price - price // 3_000),
        "upperPrice": str(price + price // 3_000),
        "betAmount": "10000000",
        "startTime": start,
        "endTime": start + 5_000,
        "deadline": start + 60_000,
    }
    quote = call(f"{SOLVER}/quote", terms)["quote"]
    signature = sign(SOLVER, {**terms, "solver": quote["solver"], "payout": quote["payout"]})
    return call(f"{SOLVER}/execute", {"quote": quote, "userSignature": signature})["result"]


lead_ms, result = 1_000, None
while result is None:
    try:
        result = bet(lead_ms)
    except SystemExit as refusal:
        lead_ms += 500
        # The price moved, nothing was placed: a new quote, around the new price, with more time.
        if lead_ms > 10_000 or '"retry":"new_quote"' not in str(refusal):
            raise
if result["status"] != "committed":
    raise SystemExit(f"{result['error']['code']}: {result['error']['message']}")

while (thesis := rpc("core_getThesis", result["thesisId"]))["status"] in ("open", "needs_backfill"):
    time.sleep(0.2)
balance = int(rpc("core_getAccount", user.address)["balance"])
print(f"{thesis['status']}, balance {balance / 10**6:.6f} USDC")
