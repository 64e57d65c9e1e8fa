import { computed, effect, type Signal, signal } from "@preact/signals";
import { isRangemakerError, systemClock, type Thesis } from "@rangemaker/client";
import { Poll } from "../data/http.ts";
import type { PageModel } from "../data/page_model.ts";
import { ProvidersWatch } from "../data/providers.ts";
import { type ServiceName, ServiceWatch } from "../data/service_watch.ts";
import { notify } from "../notify_button.tsx";
import type { View } from "../shell.tsx";
import { Findings, type RecordedFinding } from "./findings_card.tsx";
import {
  endedOf,
  logged,
  type ProblemRecord,
  recordOf,
  storedRecords,
  storeRecords,
} from "./problem_log.ts";
import {
  type Finding,
  findingsOf,
  NEEDS_BACKFILL,
  PRICES_MISSING,
  processesOf,
} from "./problems.ts";
import { ServiceCard } from "./service_card.tsx";
import { Sources } from "./sources_card.tsx";
import { betRepair, betsOf, gapOf, marketRepair, type Repair } from "./repairs.ts";

/** In the order in which prices and bets flow. */
const ORDER: readonly ServiceName[] = ["exchanges", "oracle", "node", "proxy", "bridge", "solver"];

/** The operator's view. Once it is opened, it asks the services behind other views, too. */
export function openOperatorView(model: PageModel): View {
  const { config, markets } = model;
  const watches = ORDER.flatMap((name) => {
    const url = config.urls[name];
    return url === undefined ? [] : [new ServiceWatch(name, url, systemClock)];
  });
  const { oracle } = config.urls;
  const sources = oracle === undefined ? undefined : new ProvidersWatch(oracle, systemClock);
  const repairs = watchRepairs(model, watches);
  const found = computed(() => {
    const states = watches.map(({ state }) => state.value);
    return findingsOf(states, sources?.providers.value).map((finding) => {
      const repair = repairs.value.get(finding.chapter);
      return repair === undefined ? finding : { ...finding, ...repair };
    });
  });
  const records = signal(storedRecords(localStorage));
  effect(() => {
    const [before, nowMs] = [records.peek(), Date.now()];
    const news = found.value.find((one) => isAlarm(one) && !recordOf(before, one, nowMs));
    if (news !== undefined) notify(`${news.service}: ${news.text}`);
    records.value = logged(before, found.value, nowMs);
    storeRecords(localStorage, records.value);
  });
  const alarms = computed(() => found.value.filter(isAlarm).length);
  for (const watch of [...watches, sources]) watch?.poll.start();
  const Body = () => (
    <OperatorView
      {...{ watches, sources, symbols: markets.symbols, announce: model.announce }}
      findings={found.value.map((finding) => ({
        ...finding,
        record: recordOf(records.value, finding, Date.now()),
      }))}
      ended={endedOf(records.value, Date.now())}
    />
  );
  return { id: "operator", label: "Operator", Body, alarms };
}

const isAlarm = ({ severity, cause }: Finding) => severity === "critical" && cause === undefined;

/** Between two looks at what prices are missing: bets and prices are read for it. */
const REPAIRS_PAUSE_MS = 5_000;

/** The commands for missing prices, by chapter; read again when the node's figures have changed. */
function watchRepairs(
  { config, client, markets }: PageModel,
  watches: readonly ServiceWatch[],
): Signal<ReadonlyMap<string, Repair>> {
  const repairs: Signal<ReadonlyMap<string, Repair>> = signal(new Map());
  const { exchanges } = config.urls;
  let known = "";
  const read = async () => {
    const node = watches.find(({ state }) => state.value.name === "node")?.state.value;
    const needed = node?.history.latest.of("node_price_slots_needed")
      .filter(({ value }) => value > 0) ?? [];
    const waiting = node?.history.latest.sum("node_theses_without_prices") ?? 0;
    const key = JSON.stringify([needed, waiting]);
    if (key === known) return;
    const bets = needed.length === 0 ? [] : await betsOf(client, "open");
    const ended = waiting === 0 ? [] : await betsOf(client, "needs_backfill");
    const symbolOf = ({ base, quote }: Thesis) => markets.find(base, quote)?.symbol;
    const gaps = await Promise.all(needed.map(({ labels: { market = "" } }) => {
      const [own, over] = [bets, ended].map((all) => all.filter((bet) => symbolOf(bet) === market));
      return gapOf(client, market, own!, over!, Date.now()); // as many as lists
    }));
    const filled = new Set(gaps.flatMap(({ symbol, missing }) => missing.length > 0 ? symbol : []));
    const isFilled = (bet: Thesis) => filled.has(symbolOf(bet) ?? "");
    const found = [
      [PRICES_MISSING, marketRepair(gaps, exchanges)],
      [NEEDS_BACKFILL, betRepair(ended, isFilled, exchanges)],
    ] as const;
    repairs.value = new Map(found.flatMap(([chapter, one]) => one ? [[chapter, one]] : []));
    known = key;
  };
  // Without the node there is no command, and its absence is a problem of its own.
  const readOrWait = () =>
    read().catch((thrown) => {
      if (!isRangemakerError(thrown)) throw thrown;
    });
  new Poll(systemClock, readOrWait, REPAIRS_PAUSE_MS).start();
  return repairs;
}

interface OperatorViewProps {
  symbols: readonly string[];
  watches: readonly ServiceWatch[];
  sources: ProvidersWatch | undefined;
  findings: readonly RecordedFinding[];
  ended: readonly ProblemRecord[];
  announce(text: string): void;
}

function OperatorView({ watches, sources, symbols, findings, ...news }: OperatorViewProps) {
  const states = watches.map(({ state }) => state.value);
  const providers = sources?.providers.value;
  const processes = processesOf(states);
  return (
    <div class="board">
      <Findings findings={findings} states={states} {...news} />
      <section class="services" aria-label="Services">
        {states.map((state) => (
          <ServiceCard
            key={state.name}
            state={state}
            findings={findings}
            providers={providers}
            process={processes.find((services) => services.includes(state)) ?? []}
          />
        ))}
      </section>
      {sources !== undefined && <Sources providers={providers} states={states} symbols={symbols} />}
    </div>
  );
}
