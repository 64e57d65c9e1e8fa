import { Hono, type MiddlewareHandler } from "hono";
import { DEPOSIT_REQUEST_TYPE, depositRequestSchema } from "../../lib/protocol/deposit.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { describeTypedData } from "../../lib/protocol/typed_data.ts";
import { limitBody, parseInput, readBody, useEnvelope } from "../../lib/service/envelope.ts";
import type { Depositor } from "./depositor.ts";
import {
  type DepositBook,
  depositPathSchema,
  depositsQuerySchema,
  userPathSchema,
} from "./deposits.ts";
import type { BridgeMetrics } from "./metrics.ts";
import type { Readiness } from "./readiness.ts";

/** What the routes of the bridge answer from. */
export interface BridgeApi {
  depositor: Pick<Depositor, "deposit">;
  deposits: DepositBook;
  metrics: BridgeMetrics;
  limiter: MiddlewareHandler;
  checkReadiness(): Promise<Readiness>;
  bridge: Address;
  rpcUrl: string;
  version: string;
  chainId: number;
  /** Web pages that may call the service from a browser; `*` for all. */
  corsOrigins: readonly string[];
}

/** The routes of the bridge (spec: deposit bridge, "Endpoints"). */
export function createBridgeApi(api: BridgeApi): Hono {
  const { depositor, deposits, metrics, limiter, bridge, rpcUrl, version, chainId } = api;
  const app = new Hono();
  useEnvelope(app, "bridge", api.corsOrigins);
  app.get("/info", (c) => c.json({ name: "rangemaker bridge", version, bridge, rpcUrl }));
  app.get("/typed-data", (c) => c.json(describeTypedData(DEPOSIT_REQUEST_TYPE, chainId)));
  app.get("/ready", async (c) => {
    const readiness = await api.checkReadiness();
    return c.json(readiness, readiness.ready ? 200 : 503);
  });
  app.post(
    "/deposit",
    async (c, next) => {
      await next();
      metrics.answered(c.res.status);
    },
    limiter,
    limitBody(),
    async (c) => {
      const txHash = await depositor.deposit(await readBody(c, depositRequestSchema));
      return c.json({ success: true, txHash });
    },
  );
  app.get("/deposits/:user", limiter, async (c) => {
    const query = parseInput(c.req.query(), depositsQuerySchema);
    const page = await deposits.list(parseInput(c.req.param(), userPathSchema), query);
    return c.json({ success: true, ...page });
  });
  app.get("/deposits/:user/:nonce", limiter, async (c) => {
    const deposit = await deposits.find(parseInput(c.req.param(), depositPathSchema));
    return c.json({ success: true, deposit });
  });
  return app;
}
