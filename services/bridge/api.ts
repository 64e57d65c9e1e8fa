import { Hono, type MiddlewareHandler } from "hono";
import { DEPOSIT_REQUEST_TYPE } from "../../lib/protocol/deposit.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { typedDataDescriptionOf } from "../../lib/protocol/typed_data.ts";
import { createBodyReader, parseInput, useJsonApi } from "../../lib/http/json_api.ts";
import { jsonHandler, serveDocument } from "../../lib/http/openapi.ts";
import { readyHandler } from "../../lib/http/readiness.ts";
import type { IntentStore } from "../../lib/intents/store.ts";
import config from "../../deno.json" with { type: "json" };
import { BRIDGE_ERRORS } from "./errors.ts";
import type { Depositor } from "./depositor.ts";
import { viewDeposit, viewDeposits } from "./deposits.ts";
import type { BridgeMetrics } from "./metrics.ts";
import { description, operations } from "./operations.ts";
import type { Readiness } from "./readiness.ts";

interface BridgeApiOptions {
  depositor: Pick<Depositor, "deposit">;
  store: Pick<IntentStore, "find" | "listByUser">;
  metrics: BridgeMetrics;
  limiter: MiddlewareHandler;
  checkReadiness(): Promise<Readiness>;
  bridge: Address;
  rpcUrl: string;
  chainId: number;
  corsOrigins: readonly string[];
}

/**
 * The routes of the bridge (spec: deposit bridge, "Endpoints").
 *
 * A deposit goes from `POST /deposit` to `depositor.ts`, which checks it, gets its transaction
 * signed (`lib/intents/transactions.ts`) and records both (`lib/intents/store.ts`).
 * `lib/intents/submitter.ts` then sends the transaction until the node has answered.
 */
export function createBridgeApi(options: BridgeApiOptions): Hono {
  const { depositor, store, metrics, limiter, bridge, rpcUrl, chainId } = options;
  const { version } = config;
  const readBody = createBodyReader(options.corsOrigins);
  const app = new Hono();
  useJsonApi(app, "bridge", options.corsOrigins, BRIDGE_ERRORS);
  serveDocument(app, description);
  app.get(
    "/info",
    jsonHandler(operations.info, () => ({ name: "rangemaker bridge", version, bridge, rpcUrl })),
  );
  app.get(
    "/typed-data",
    jsonHandler(operations.typedData, () => typedDataDescriptionOf(DEPOSIT_REQUEST_TYPE, chainId)),
  );
  app.get("/ready", readyHandler(operations.ready, options.checkReadiness));
  app.post(
    "/deposit",
    async (c, next) => {
      await next();
      metrics.countAnswer(c.res.status);
    },
    limiter,
    jsonHandler(operations.deposit, async (c) => {
      const txHash = await depositor.deposit(await readBody(c, operations.deposit.body));
      return { success: true as const, txHash };
    }),
  );
  app.get(
    "/deposits/:user",
    limiter,
    jsonHandler(operations.deposits, async (c) => {
      const query = parseInput(c.req.query(), operations.deposits.query);
      const path = parseInput(c.req.param(), operations.deposits.path);
      const page = await viewDeposits(store, path, query);
      return { success: true as const, ...page };
    }),
  );
  app.get(
    "/deposits/:user/:nonce",
    limiter,
    jsonHandler(operations.depositByNonce, async (c) => {
      const path = parseInput(c.req.param(), operations.depositByNonce.path);
      return { success: true as const, deposit: await viewDeposit(store, path) };
    }),
  );
  return app;
}
