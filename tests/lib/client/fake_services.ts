import type { ClientUrls } from "../../../lib/client/mod.ts";
import { listen } from "../../../lib/http/listener.ts";
import { DEPOSIT_REQUEST_TYPE } from "../../../lib/protocol/deposit.ts";
import { QUOTE_TYPE } from "../../../lib/protocol/quote.ts";
import { describeTypedData } from "../../../lib/protocol/typed_data.ts";

export const CHAIN_ID = 1337;

/** The chain that each service reports. */
export interface Claims {
  node: number;
  bridge: number;
  solver: number;
}

/** All services are of the client's chain. */
export const HONEST: Claims = { node: CHAIN_ID, bridge: CHAIN_ID, solver: CHAIN_ID };

/** The answers of each route of solver and bridge, and of each method of the node. */
export type Routes = Record<string, (body: Record<string, unknown>) => unknown>;

/** Runs a test against services with these answers. */
export async function withServices(
  routes: Routes,
  claims: Claims,
  test: (urls: ClientUrls) => Promise<void>,
): Promise<void> {
  const all: Routes = {
    "/solver/typed-data": () => describeTypedData(QUOTE_TYPE, claims.solver),
    "/bridge/typed-data": () => describeTypedData(DEPOSIT_REQUEST_TYPE, claims.bridge),
    eth_chainId: () => `0x${claims.node.toString(16)}`,
    ...routes,
  };
  await using services = listen("127.0.0.1", 0, async (request) => {
    const text = await request.text();
    const body = text === "" ? {} : JSON.parse(text);
    const { pathname } = new URL(request.url);
    if (pathname !== "/rpc") return Response.json(all[pathname]?.(body));
    return Response.json({ jsonrpc: "2.0", id: body.id, result: all[body.method]?.(body) });
  });
  const { url } = services;
  const urls = { solver: `${url}/solver//`, bridge: `${url}/bridge` };
  await test({ ...urls, proxy: `${url}/rpc`, proxyWs: url });
}
