import type { Clock } from "../../lib/clock.ts";
import { type IntentParts, openIntentParts } from "../../lib/intents/intent_parts.ts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { openLocalSigner } from "../../lib/cli/keystore.ts";
import { optionLabel } from "../../lib/cli/options.ts";
import { createRegistry } from "../../lib/http/metrics.ts";
import type { Markets } from "../../lib/protocol/markets.ts";
import type { LocalSigner } from "../../lib/protocol/signature.ts";
import type { Registry } from "prom-client";
import { createPricing, type Pricing } from "./create_pricing.ts";
import { decodeBet } from "./execution/execution.ts";
import { reportAccount, reportCalibration, reportExposure } from "./gauges.ts";
import { MinimumBet } from "./limits.ts";
import { SolverMetrics } from "./metrics.ts";
import { options as optionTable, type SolverOptions } from "./options.ts";
import { OwnAccount } from "./own_account.ts";
import { QuoteSigner } from "./quoting/quote_signer.ts";
import { ExposureBook } from "./risk/exposure_book.ts";

/** The parts of a solver that its quotes, its executions and its API share. */
export interface SolverParts extends IntentParts {
  markets: Markets;
  signer: LocalSigner;
  quoteSigner: QuoteSigner;
  exposure: ExposureBook;
  account: OwnAccount;
  minimumBet: MinimumBet;
  pricing: Pricing;
  metrics: SolverMetrics;
  registry: Registry;
}

/** Opens the parts of a solver, and adds each that must be stopped to `opened`. */
export async function openParts(
  options: SolverOptions,
  clock: Clock,
  opened: AsyncDisposableStack,
): Promise<SolverParts> {
  const signer = await openLocalSigner(options, optionLabel(optionTable.privateKey));
  const markets = await readMarkets(options.markets);
  const registry = createRegistry();
  const metrics = new SolverMetrics(registry, markets);
  const intentParts = await openIntentParts({
    name: "solver",
    database: options.database,
    rpcUrl: options.rpcUrl,
    signer,
    chainId: options.chainId,
    bindsKey: !options.dryRun,
    clock,
  });
  const { store, node } = intentParts;
  opened.defer(() => store.close());
  const exposure = new ExposureBook(options.maxExposure, decodeBet);
  reportExposure(registry, exposure);
  const account = new OwnAccount(node, signer.address, clock);
  opened.defer(reportAccount(registry, account.read));
  const pricing = await createPricing(options, { markets, node, clock, exposure, store });
  opened.defer(() => pricing.stop());
  reportCalibration(registry, () => pricing.marketData?.calibration() ?? []);
  return {
    ...intentParts,
    markets,
    signer,
    quoteSigner: new QuoteSigner(signer),
    exposure,
    account,
    minimumBet: new MinimumBet(),
    pricing,
    metrics,
    registry,
  };
}
