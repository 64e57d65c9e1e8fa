import * as kinds from "../../lib/cli/option_kinds.ts";
import { keyKind, keystoreOptions, remoteSignerOptions } from "../../lib/cli/key_options.ts";
import type { OptionsOf } from "../../lib/cli/options.ts";
import {
  chainIdOption,
  corsOriginsOption,
  databaseOption,
  limiterOptions,
  listenOptions,
  retainOption,
  rpcUrlOption,
} from "../../lib/cli/shared_options.ts";
import { optionsFor } from "../../lib/cli/option_names.ts";

/** Options of `rangemaker bridge` (spec: deposit bridge, "Bridge configuration"). */
export const options = optionsFor("bridge", {
  port: {
    flags: "-p, --port",
    kind: kinds.port,
    description: "HTTP port, also the solver's default; 0 chooses a free one",
    default: "3000",
  },
  ...listenOptions,
  corsOrigins: corsOriginsOption,
  rpcUrl: rpcUrlOption,
  privateKey: {
    flags: "-k, --private-key",
    kind: keyKind,
    env: "BRIDGE_PRIVATE_KEY",
    description: "relayer private key: 0x and 64 hex digits",
  },
  ...keystoreOptions,
  ...remoteSignerOptions,
  chainId: chainIdOption,
  database: databaseOption("data/bridge.sqlite"),
  retain: retainOption,
  ...limiterOptions,
});

export type BridgeOptions = OptionsOf<typeof options>;
