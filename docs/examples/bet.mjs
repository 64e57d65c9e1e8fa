// A whole bet in Node 20 or newer, Bun or Deno, on a running stack.
import { isRangemakerError, RangemakerClient } from "@rangemaker/client";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import WebSocket from "ws"; // only for Node 20; newer versions, Bun and Deno have one

const client = new RangemakerClient({
  chainId: 1337, // the chain of the stack
  urls: {
    solver: "http://127.0.0.1:3000",
    bridge: "http://127.0.0.1:3001",
    proxy: "http://127.0.0.1:8546",
    proxyWs: "ws://127.0.0.1:8546/ws",
  },
  wallet: privateKeyToAccount(generatePrivateKey()),
  connect: (url) => new WebSocket(url), // the same
});
try {
  await client.deposit(100_000_000n); // amounts and prices have 6 decimals
  const { price } = (await client.prices())["ETH/USDT"];
  const offer = await client.quote({
    symbol: "ETH/USDT",
    lowerPrice: (price * 99n) / 100n,
    upperPrice: (price * 101n) / 100n,
    betAmount: 10_000_000n,
    startTime: Date.now(),
    endTime: Date.now() + 5_000,
  });
  const { thesisId } = await client.execute(offer);
  const { status, payout } = await client.settled(thesisId, 15_000);
  console.log(status, payout);
} catch (error) {
  if (!isRangemakerError(error)) throw error;
  console.error(error.code, error.message);
}
