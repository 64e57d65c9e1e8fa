import * as kinds from "../../lib/cli/option_kinds.ts";
import type { OptionsOf, OptionTable } from "../../lib/cli/options.ts";
import {
  chainIdOption,
  corsOriginsOption,
  databaseOption,
  faultPointOption,
  hostOption,
  keystoreOptions,
  limiterOptions,
  retainOption,
  rpcUrlOption,
} from "../../lib/cli/shared_options.ts";

/** Options of `rangemaker bridge` (spec: deposit bridge, "Bridge configuration"). */
export const options = {
  port: {
    flags: "-p, --port",
    kind: kinds.port,
    description: "HTTP port, also the solver's default; 0 takes a free one",
    default: "3000",
  },
  host: hostOption,
  corsOrigins: corsOriginsOption,
  rpcUrl: rpcUrlOption,
  privateKey: {
    flags: "-k, --private-key",
    kind: kinds.key,
    env: "BRIDGE_PRIVATE_KEY",
    description: "relayer private key: 0x and 64 hex digits",
  },
  ...keystoreOptions,
  chainId: chainIdOption,
  database: databaseOption("BRIDGE_DATABASE", "data/bridge.sqlite"),
  retain: retainOption,
  ...limiterOptions,
  faultPoint: faultPointOption,
} satisfies OptionTable;

/** The options after parsing. */
export type BridgeOptions = OptionsOf<typeof options>;
