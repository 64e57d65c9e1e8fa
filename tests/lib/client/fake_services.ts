import type { ClientUrls } from "../../../lib/client/mod.ts";
import { listen } from "../../../lib/http/listener.ts";
import { DEPOSIT_REQUEST_TYPE } from "../../../lib/protocol/deposit.ts";
import { QUOTE_TYPE } from "../../../lib/protocol/quote.ts";
import { typedDataDescriptionOf } from "../../../lib/protocol/typed_data.ts";
import { MARKETS } from "../../../lib/protocol/markets.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import { hashQuote } from "../../../lib/protocol/hashes.ts";
import { LocalSigner } from "../../../lib/protocol/signature.ts";
import { FakeClock } from "../../support/fake_clock.ts";

export const CHAIN_ID = 1337;

export interface Claims {
  node: number;
  bridge: number;
  solver: number;
}

export const HONEST: Claims = { node: CHAIN_ID, bridge: CHAIN_ID, solver: CHAIN_ID };

/** The answers of each route of solver and bridge, and of each method of the node. */
export type Routes = Record<string, (body: Record<string, unknown>) => unknown>;

/** Starts services that answer as the routes do; they end with the block that uses them. */
export function startServices(routes: Routes, claims: Claims = HONEST) {
  const all: Routes = {
    "/solver/typed-data": () => typedDataDescriptionOf(QUOTE_TYPE, claims.solver),
    "/bridge/typed-data": () => typedDataDescriptionOf(DEPOSIT_REQUEST_TYPE, claims.bridge),
    eth_chainId: () => `0x${claims.node.toString(16)}`,
    ...routes,
  };
  const services = listen("127.0.0.1", 0, async (request) => {
    const text = await request.text();
    const body = text === "" ? {} : JSON.parse(text);
    const { pathname } = new URL(request.url);
    if (pathname !== "/rpc") return Response.json(all[pathname]?.(body));
    return Response.json({ jsonrpc: "2.0", id: body.id, result: all[body.method]?.(body) });
  });
  const { url } = services;
  const urls: ClientUrls = {
    solver: `${url}/solver//`,
    bridge: `${url}/bridge`,
    proxy: `${url}/rpc`,
    proxyWs: url,
  };
  return { urls, [Symbol.asyncDispose]: () => services.stop() };
}

export const clock = new FakeClock();
export const solver = new LocalSigner(DEV_ACCOUNTS.solver.privateKey);

export const bet = {
  symbol: "ETH/USDT",
  lowerPrice: 2_900_000_000n,
  upperPrice: 3_100_000_000n,
  betAmount: 1_000_000n,
  startTime: clock.now() + 1_000,
  endTime: clock.now() + 4_000,
};

const { symbol, ...plainBet } = bet;
const { base, quote } = MARKETS.find((market) => market.symbol === symbol)!; // of the specification

export const terms = {
  ...plainBet,
  solver: solver.address,
  user: DEV_ACCOUNTS.admin.address,
  thesisType: "box" as const,
  base,
  quote,
  payout: 1_070_000n,
  deadline: clock.now() + 60_000,
};

export function offerOn(chainId: number, signer: LocalSigner = solver) {
  const offered = { ...terms, solver: signer.address };
  const quoteHash = hashQuote(offered, chainId);
  return { quote: { ...offered, signature: signer.sign(quoteHash) }, quoteHash };
}
