import type { OptionTable } from "../../lib/cli/options.ts";
import { options as bridge } from "../../services/bridge/mod.ts";
import { options as console } from "../../services/console/mod.ts";
import { options as exchanges } from "../../services/exchanges/mod.ts";
import { options as backfill } from "../../services/backfill/mod.ts";
import { options as node } from "../../services/node/mod.ts";
import { options as oracle } from "../../services/oracle/mod.ts";
import { options as proxy } from "../../services/proxy/mod.ts";
import { options as solver } from "../../services/solver/mod.ts";

/** The option table of every service, by the name of its command. */
export const OPTION_TABLES: Record<string, OptionTable> = {
  solver,
  bridge,
  proxy,
  oracle,
  node,
  backfill,
  console,
  exchanges,
};
