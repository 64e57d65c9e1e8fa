import { withDefaults } from "../../../lib/cli/options.ts";
import type { RunningService } from "../../../lib/http/service.ts";
import { options as exchangesOptions, startExchanges } from "../../../services/exchanges/mod.ts";
import { options as oracleOptions, startOracle } from "../../../services/oracle/mod.ts";
import { eventually } from "../../support/eventually.ts";

/** Runs a test with an oracle that has every price from stand-ins of all four exchanges. */
export async function withOracle(test: (oracle: RunningService) => Promise<void>): Promise<void> {
  const exchanges = await startExchanges(withDefaults(exchangesOptions, { port: 0, rate: 50 }));
  const { providerUrls } = exchanges;
  const oracle = await startOracle(withDefaults(oracleOptions, { port: 0, providerUrls }));
  try {
    await eventually("every price", async () => {
      const { status } = await (await fetch(`${oracle.url}/health`)).json();
      return status === "healthy" || undefined;
    });
    await test(oracle);
  } finally {
    await oracle.stop();
    await exchanges.stop();
  }
}
