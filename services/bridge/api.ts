import { Hono } from "hono";
import { DEPOSIT_REQUEST_TYPE, depositRequestSchema } from "../../lib/protocol/deposit.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { describeTypedData } from "../../lib/protocol/typed_data.ts";
import { limitBody, readBody, useEnvelope } from "../../lib/service/envelope.ts";
import type { Depositor } from "./depositor.ts";

/** What the routes of the bridge answer from. */
export interface BridgeApi {
  depositor: Depositor;
  bridge: Address;
  rpcUrl: string;
  version: string;
  chainId: number;
}

/** The routes of the bridge (spec: deposit bridge, "Endpoints"). */
export function createBridgeApi(api: BridgeApi): Hono {
  const { depositor, bridge, rpcUrl, version, chainId } = api;
  const app = new Hono();
  useEnvelope(app, "bridge");
  app.get("/info", (c) => c.json({ name: "rangemaker bridge", version, bridge, rpcUrl }));
  app.get("/typed-data", (c) => c.json(describeTypedData(DEPOSIT_REQUEST_TYPE, chainId)));
  app.post("/deposit", limitBody(), async (c) => {
    const txHash = await depositor.deposit(await readBody(c, depositRequestSchema));
    return c.json({ success: true, txHash });
  });
  return app;
}
