/** A bet as a program for Node plays it, with nothing of Deno: bundled and run by `runtime_test.ts`. */
import process from "node:process";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { type ClientUrls, isRangemakerError, RangemakerClient } from "../../../lib/client/mod.ts";

const urls: ClientUrls = JSON.parse(process.argv[2] ?? "");
const wallet = privateKeyToAccount(generatePrivateKey());
const client = new RangemakerClient({ urls, chainId: 1337, wallet });

await client.deposit(100_000_000n);
const price = (await client.prices())["ETH/USDT"]?.price ?? 0n;
const startTime = Date.now();
const bet = {
  symbol: "ETH/USDT",
  lowerPrice: (price * 99n) / 100n,
  upperPrice: (price * 101n) / 100n,
  betAmount: 10_000_000n,
  startTime,
  endTime: startTime + 5_000,
};
const { multiplier } = await client.estimate(bet);
const { thesisId } = await client.execute(await client.quote(bet));
const outcome = await client.settled(thesisId, 20_000).then(
  ({ status }) => status,
  (thrown: unknown) => isRangemakerError(thrown) ? thrown.code : String(thrown),
);
const { balance } = await client.account();
console.log(JSON.stringify({ multiplier, outcome, balance: balance.toString() }));
