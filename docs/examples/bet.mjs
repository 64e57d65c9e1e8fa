// A whole bet in Node 20 or newer, Bun or Deno, on a running stack or at four URLs.
import process from "node:process";
import {
  formatUnits,
  hasPriceMoved,
  isRangemakerError,
  RangemakerClient,
} from "@rangemaker/client";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import WebSocket from "ws"; // Node 20 has none of its own; newer versions, Bun and Deno do

const [
  solver = "http://127.0.0.1:3000",
  bridge = "http://127.0.0.1:3001",
  proxy = "http://127.0.0.1:8546",
  proxyWs = "ws://127.0.0.1:8546/ws",
] = process.argv.slice(2);
const client = new RangemakerClient({
  chainId: 1337, // the chain of the stack
  urls: { solver, bridge, proxy, proxyWs },
  wallet: privateKeyToAccount(generatePrivateKey()),
  connect: (url) => new WebSocket(url), // not needed where the runtime has one
});

/** Bets on a range around the price. If it moved meanwhile: around the new one, with more time. */
async function bet(leadMs = 1_000) {
  const { price } = (await client.prices())["ETH/USDT"];
  const startTime = Date.now() + leadMs; // time to sign
  try {
    const offer = await client.quote({
      symbol: "ETH/USDT",
      lowerPrice: price - price / 3_000n,
      upperPrice: price + price / 3_000n,
      betAmount: 10_000_000n,
      startTime,
      endTime: startTime + 5_000,
    });
    return await client.execute(offer);
  } catch (error) {
    if (leadMs > 10_000 || !hasPriceMoved(error)) throw error; // if it moved, nothing was placed
    return await bet(leadMs + 500);
  }
}

try {
  await client.deposit(100_000_000n); // amounts and prices have 6 decimals
  const { thesisId } = await bet();
  const { status } = await client.settled(thesisId, 30_000);
  const { balance } = await client.account();
  console.log(`${status}, balance ${formatUnits(balance)} USDC`);
} catch (error) {
  if (!isRangemakerError(error)) throw error;
  console.error(error.code, error.message);
  process.exitCode = 1;
}
