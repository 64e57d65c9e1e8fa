import { computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { isRangemakerError, systemClock, type Thesis } from "@rangemaker/client";
import { useEffect } from "preact/hooks";
import { Poll } from "../data/http.ts";
import type { PageModel } from "../data/page_model.ts";
import { type Providers, ProvidersWatch } from "../data/providers.ts";
import { type ServiceName, type ServiceState, ServiceWatch } from "../data/service_watch.ts";
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
  isVisible,
  NEEDS_BACKFILL,
  PRICES_MISSING,
  processesOf,
  TO_BACKFILL,
} from "./problems.ts";
import { ServiceCard } from "./service_card.tsx";
import { Sources } from "./sources_card.tsx";
import { betRepair, betsOf, gapOf, marketRepair, type Repair } from "./repairs.ts";

/** In the order in which prices and bets flow. */
const ORDER: readonly ServiceName[] = ["exchanges", "oracle", "node", "proxy", "bridge", "solver"];

/** Between two looks at a service while another view is shown: rates need two looks in 15 s. */
const BEHIND_PAUSE_MS = 6_000;

/** The operator's view. Once it is opened, it asks the services behind other views, too, less often. */
export function openOperatorView(model: PageModel): View {
  const { config, markets } = model;
  const watches = ORDER.flatMap((name) => {
    const url = config.urls[name];
    return url === undefined ? [] : [new ServiceWatch(name, url, systemClock)];
  });
  const { oracle } = config.urls;
  const sources = oracle === undefined ? undefined : new ProvidersWatch(oracle, systemClock);
  const states = computed(() => watches.map(({ state }) => state.value));
  const repairs = watchRepairs(model, states);
  const found = computed(() =>
    findingsOf(states.value, sources?.providers.value).map((finding) =>
      TO_BACKFILL.has(finding.chapter)
        ? { ...finding, ...(repairs.value.get(finding.chapter) ?? READING) }
        : finding
    )
  );
  const records = signal(storedRecords(localStorage));
  effect(() => {
    const [before, nowMs] = [records.peek(), Date.now()];
    const news = found.value.find((one) =>
      isAlarm(one) && recordOf(before, one, nowMs)?.isCause !== true
    );
    if (news !== undefined) notify(`${news.service}: ${news.text}`);
    records.value = logged(before, found.value, ({ service, chapter }) => {
      const state = states.value.find(({ name }) => name === service);
      return state !== undefined && isVisible(state, chapter);
    }, nowMs);
    storeRecords(localStorage, records.value);
  });
  const alarms = computed(() => found.value.filter(isAlarm).length);
  const ask = (pauseMs?: number) => {
    for (const watch of watches) watch.poll.start(pauseMs);
  };
  ask(BEHIND_PAUSE_MS);
  const Body = () => {
    useEffect(() => {
      ask();
      sources?.poll.start();
      return () => {
        ask(BEHIND_PAUSE_MS);
        sources?.poll.stop();
      };
    }, []);
    const findings = found.value.map((finding) => ({
      ...finding,
      record: recordOf(records.value, finding, Date.now()),
    }));
    const ended = endedOf(records.value);
    return (
      <OperatorView
        {...{ states: states.value, findings, ended }}
        {...{ providers: sources?.providers.value, hasSources: sources !== undefined }}
        {...{ symbols: markets.symbols, announce: model.announce }}
      />
    );
  };
  return { id: "operator", label: "Operator", Body, alarms };
}

const isAlarm = ({ severity, cause }: Finding) => severity === "critical" && cause === undefined;

/** Between two looks at what prices are missing: bets and prices are read for it. */
const REPAIRS_PAUSE_MS = 5_000;

/** Until the commands are known. */
const READING = { firstStep: "reading the gaps …" };

/** The commands for missing prices, by chapter; read again when the node's figures have changed. */
function watchRepairs(
  { config, client, markets }: PageModel,
  states: ReadonlySignal<readonly ServiceState[]>,
): ReadonlySignal<ReadonlyMap<string, Repair>> {
  const repairs: Signal<ReadonlyMap<string, Repair>> = signal(new Map());
  const { exchanges } = config.urls;
  const lacks = computed(() => {
    const latest = states.value.find(({ name }) => name === "node")?.history.latest;
    const needed = latest?.of("node_price_slots_needed").filter(({ value }) => value > 0) ?? [];
    return { needed, waiting: latest?.sum("node_theses_without_prices") ?? 0 };
  });
  const isLacking = (chapter: string) =>
    chapter === PRICES_MISSING ? lacks.value.needed.length > 0 : lacks.value.waiting > 0;
  let known = "";
  let readAtMs = -Infinity;
  // The next gap has other commands.
  effect(() => {
    const kept = [...repairs.peek()].filter(([chapter]) => isLacking(chapter));
    if (kept.length === repairs.peek().size) return;
    repairs.value = new Map(kept);
    known = "";
  });
  const read = async () => {
    const { needed, waiting } = lacks.value;
    const key = JSON.stringify([needed, waiting]);
    if (key === known || known !== "" && Date.now() - readAtMs < REPAIRS_PAUSE_MS) return;
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
    repairs.value = new Map(
      found.flatMap(([chapter, one]) => one && isLacking(chapter) ? [[chapter, one]] : []),
    );
    [known, readAtMs] = [key, Date.now()];
  };
  // Without the node there is no command, and its absence is a problem of its own.
  const readOrWait = () =>
    read().catch((thrown) => {
      if (!isRangemakerError(thrown)) throw thrown;
    });
  new Poll(systemClock, readOrWait).start();
  return repairs;
}

interface OperatorViewProps {
  symbols: readonly string[];
  states: readonly ServiceState[];
  /** Undefined while the oracle does not answer. */
  providers: Providers | undefined;
  hasSources: boolean;
  findings: readonly RecordedFinding[];
  ended: readonly ProblemRecord[];
  announce(text: string): void;
}

function OperatorView({ states, providers, hasSources, symbols, ...news }: OperatorViewProps) {
  const processes = processesOf(states);
  return (
    <div class="board">
      <Findings states={states} {...news} />
      <section class="services" aria-label="Services">
        {states.map((state) => (
          <ServiceCard
            key={state.name}
            state={state}
            findings={news.findings}
            providers={providers}
            process={processes.find((services) => services.includes(state)) ?? []}
          />
        ))}
      </section>
      {hasSources && <Sources providers={providers} states={states} symbols={symbols} />}
    </div>
  );
}
