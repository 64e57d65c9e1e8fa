// A bet with a browser wallet such as MetaMask, on a running stack (see ../README.md).
import { hasPriceMoved, isRangemakerError, RangemakerClient } from "@rangemaker/client";

const client = new RangemakerClient({
  chainId: 1337, // the chain of the stack
  urls: {
    solver: "http://127.0.0.1:3000",
    bridge: "http://127.0.0.1:3001",
    proxy: "http://127.0.0.1:8546",
    proxyWs: "ws://127.0.0.1:8546/ws",
  },
  wallet: globalThis.ethereum,
});

function show(text) {
  const item = document.createElement("li");
  item.textContent = text;
  document.getElementById("log").append(item);
}

/** Bets on a range around the price; again, around the new price, if it moved meanwhile. */
async function bet(attempts = 20) {
  const { price } = (await client.prices())["ETH/USDT"];
  const startTime = Date.now() + 10_000; // time to read and sign the quote
  try {
    const offer = await client.quote({
      symbol: "ETH/USDT",
      lowerPrice: price - price / 3_000n,
      upperPrice: price + price / 3_000n,
      betAmount: 10_000_000n,
      startTime,
      endTime: startTime + 5_000,
    });
    show(`Sign to bet 10 USDC; it pays ${Number(offer.quote.payout) / 1e6} if you win`);
    return await client.execute(offer);
  } catch (error) {
    if (attempts === 1 || !hasPriceMoved(error)) throw error; // if it moved, nothing was placed
    return await bet(attempts - 1);
  }
}

async function play() {
  show(`You are ${await client.address()}`);
  await client.switchChain({ chainName: "rangemaker" }); // adds the chain if the wallet lacks it
  await client.deposit(100_000_000n);
  const { thesisId } = await bet();
  show(`Thesis ${thesisId} is open`);
  const { status } = await client.settled(thesisId, 60_000);
  show(`Thesis ${thesisId} is ${status}`);
}

document.getElementById("bet").onclick = () =>
  play().catch((error) => {
    if (!isRangemakerError(error)) throw error;
    show(`${error.code}: ${error.message}`);
  });
