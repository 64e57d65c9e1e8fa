import { databaseOption } from "../../lib/cli/database_option.ts";
import { keystoreOptions } from "../../lib/cli/keystore.ts";
import {
  chainIdOption,
  corsOriginsOption,
  hostOption,
  portSchema,
  privateKeySchema,
  rpcUrlOption,
} from "../../lib/cli/option_types.ts";
import type { OptionsOf, OptionTable } from "../../lib/cli/options.ts";
import { faultPointOption } from "../../lib/fault_points.ts";
import { limiterOptions } from "../../lib/http/limiter.ts";

/** Options of the bridge (spec: deposit bridge, "Bridge configuration"). */
export const options = {
  port: {
    flags: "-p, --port <port>",
    description: "HTTP port; 0 takes a free one",
    schema: portSchema,
    default: "3000",
  },
  host: hostOption,
  corsOrigins: corsOriginsOption,
  rpcUrl: rpcUrlOption,
  privateKey: {
    flags: "-k, --private-key <key>",
    env: "BRIDGE_PRIVATE_KEY",
    description: "relayer private key: 0x and 64 hex digits",
    schema: privateKeySchema.optional(),
    secret: true,
  },
  ...keystoreOptions,
  chainId: chainIdOption,
  database: databaseOption("BRIDGE_DATABASE", "data/bridge.sqlite"),
  ...limiterOptions,
  faultPoint: faultPointOption,
} satisfies OptionTable;

/** Options of {@link startBridge}. */
export type BridgeOptions = OptionsOf<typeof options>;
