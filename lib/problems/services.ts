import { absolute, changes, gauge, increase, matching, minus, rate, ratio } from "./measure.ts";
import { type Problem, whenFalse } from "./problem.ts";

export const SERVICE_DOWN = {
  name: "ServiceDown",
  measure: gauge("up"),
  bound: { op: "==", limit: 0 },
  severity: "critical",
  afterS: 30,
  message: "It does not answer",
  firstStep: "Start it again: it continues where it stopped.",
} satisfies Problem;

export const SERVICE_PROBLEMS: readonly Problem[] = [
  SERVICE_DOWN,
  {
    name: "ServiceRestarting",
    measure: changes("process_start_time_seconds", "15m"),
    bound: { op: ">", limit: 2 },
    severity: "warning",
    message: "It has restarted {value} times in 15 minutes",
    isRootCause: true,
    firstStep:
      "Unless somebody restarts it by hand, it keeps exiting: read the last log line before each " +
      "restart.",
  },
  {
    name: "MemoryHigh",
    measure: gauge("process_resident_memory_bytes"),
    bound: { op: ">", limit: 1e9 },
    unit: "bytes",
    severity: "warning",
    afterS: 600,
    message: "Its process uses {value} of memory",
    isRootCause: true,
    firstStep: "Look for many clients, or messages that are large: every queue is bounded.",
  },
];

export const PROXY: readonly Problem[] = [
  {
    name: "ProxyUpstreamDisconnected",
    title: "Connected to the read node",
    ...whenFalse("proxy_broadcast_upstream_connected"),
    severity: "critical",
    afterS: 30,
    message: "It has no WebSocket to the read node: clients get no notifications",
    effect: "pages show no new prices, and bets that end are not reported",
    firstStep: "Ask the read node itself, which `GET /ready` names; if it answers, check " +
      "`--read-node-url` and `--read-node-ws-url`.",
  },
  {
    name: "ProxyReconnecting",
    title: "Reconnects to the read node",
    measure: increase("proxy_broadcast_reconnects_total", "10m"),
    bound: { op: ">", limit: 5 },
    severity: "warning",
    message: "It has lost its connection to the read node {value} times in 10 minutes",
    firstStep: "Look for an idle limit between them, or a node that disconnects clients.",
  },
  {
    name: "ProxyReadNodeOut",
    title: "Read nodes are in use",
    ...whenFalse("proxy_read_node_up"),
    severity: "warning",
    afterS: 120,
    message: "It does not use its read node {node}",
    follows: "ProxyUpstreamDisconnected",
    firstStep:
      '`GET /ready` of the proxy says why; of several read nodes, its log: "Read node … removed".',
  },
  {
    name: "ProxyUpstreamErrors",
    title: "Requests without an answer, a second",
    measure: rate("proxy_upstream_errors_total", "1m", { by: ["target"] }),
    bound: { op: ">", limit: 0.1 },
    unit: "rate",
    severity: "critical",
    isBesideHealth: true,
    afterS: 120,
    message: "The {target} node leaves {value} requests a second without an answer",
    follows: "ProxyUpstreamDisconnected",
    effect: "pages show no bets and balances, or old ones",
    firstStep: "Ask that node directly (`--write-node-url`, `--read-node-url`).",
  },
  {
    name: "ProxyClientsLag",
    title: "Messages that clients miss",
    measure: ratio(
      rate("proxy_ws_messages_total", "5m", { labels: { direction: "lagged" } }),
      rate("proxy_ws_messages_total", "5m", { labels: { direction: /lagged|downstream/ } }),
    ),
    bound: { op: ">", limit: 0.01 },
    unit: "share",
    severity: "warning",
    afterS: 300,
    message: "Clients miss {value} of their messages",
    firstStep: "If all clients do, raise `--broadcast-capacity`; a few read too slowly.",
  },
];

/** A source whose trades have times that differ more from their arrival is reported. */
const SOURCE_LAG_MAX_S = 1;

export const ORACLE: readonly Problem[] = [
  {
    name: "OraclePairWithoutPrice",
    measure: matching(
      gauge("oracle_sources"),
      "unless",
      gauge("oracle_price_age_seconds"),
      "pair",
    ),
    bound: { op: ">", limit: -1 },
    severity: "critical",
    afterS: 15,
    message: "No price of {pair}: too few sources, or a jump that only one source has made",
    firstStep:
      "Look at the connection and the last error of each source: in the console, or with " +
      "`GET /providers`.",
  },
  {
    name: "OraclePriceOld",
    title: "Oldest price",
    measure: gauge("oracle_price_age_seconds"),
    bound: { op: ">", limit: 3 },
    unit: "seconds",
    severity: "critical",
    afterS: 10,
    message: "The price of {pair} is {value} old: nodes refuse new theses after 3 s",
    firstStep: "Set `--max-source-age-ms` below 3000.",
  },
  {
    name: "OracleFewSources",
    title: "Fewest sources of a market",
    measure: gauge("oracle_sources"),
    bound: { op: "<", limit: 3 },
    severity: "warning",
    afterS: 300,
    message: "{value} sources are left for {pair}",
    follows: "OraclePairWithoutPrice",
    firstStep:
      "Look at the connection and the last error of each source: in the console, or with " +
      "`GET /providers`.",
  },
  {
    name: "OracleSourceDeviates",
    title: "Farthest source from its median",
    measure: absolute(gauge("oracle_source_deviation_ratio")),
    bound: { op: ">", limit: 0.01 },
    unit: "share",
    severity: "warning",
    afterS: 60,
    message: "{provider} lies {value} off the median of {pair}",
    firstStep: "Remove the source with `--providers` until it is fixed.",
  },
  {
    name: "OracleSourceLate",
    isRootCause: true,
    title: "Largest lag of a source",
    measure: absolute(gauge("oracle_source_lag_seconds")),
    bound: { op: ">", limit: SOURCE_LAG_MAX_S },
    unit: "seconds",
    severity: "warning",
    afterS: 60,
    message:
      "Trade times from {provider} in {pair} are off by {value}: late delivery, or a wrong clock",
    firstStep:
      "If all sources are affected, compare this machine's clock and network; else remove " +
      "the source with `--providers` until it is right again.",
  },
  {
    name: "OracleProviderSilent",
    title: "Prices of the slowest source, a second",
    measure: rate("oracle_trades_total", "5m", { by: ["provider"] }),
    bound: { op: "==", limit: 0 },
    severity: "warning",
    afterS: 120,
    message: "No prices from {provider}",
    firstStep: "Look at its last error: in the console, or with `GET /providers`.",
  },
];

export const NODE: readonly Problem[] = [
  {
    name: "NodeStopped",
    title: "Blocks, a second",
    // Of a single scrape there is no rate: one that fails does not look like a node that stands still.
    measure: rate("node_block_number", "30s"),
    bound: { op: "==", limit: 0 },
    severity: "critical",
    afterS: 15,
    message: "It seals no blocks",
    follows: "NodeStorageFailed",
    firstStep: "Read its log: the disk is full or missing, or the process is blocked.",
  },
  {
    name: "NodeCheckpointsMissed",
    title: "Missed checkpoints",
    measure: increase("node_checkpoints_missed_total", "10m"),
    bound: { op: ">", limit: 10 },
    severity: "warning",
    message: "It has skipped {value} checkpoints in 10 minutes",
    firstStep: "Give its machine more CPU time, and disable sleep.",
  },
  {
    name: "NodePullsFail",
    title: "Oracle pulls without a price",
    measure: ratio(
      minus(
        rate("node_oracle_pulls_total", "2m", { labels: { outcome: /timeout|error|invalid/ } }),
        rate("node_oracle_late_answers_total", "2m"),
      ),
      rate("node_oracle_pulls_total", "2m"),
    ),
    bound: { op: ">", limit: 0.05 },
    unit: "share",
    severity: "warning",
    afterS: 60,
    message: "{value} of its oracle pulls bring no price",
    follows: "NodePricesStale",
    firstStep: "If the oracle works, bring it nearer: a pull has 10 ms.",
  },
  {
    name: "NodePricesStale",
    title: "Prices are fresh",
    ...whenFalse("node_price_fresh"),
    severity: "critical",
    afterS: 15,
    message: "No fresh price of {market}: it accepts no bets there",
    effect: "no new bets on these markets; bets that end there wait for a backfill",
    firstStep: "Its log has the reason of the last pull that failed, and so has its method " +
      "`core_getOracleStatus`.",
  },
  {
    name: "NodePricesMissing",
    title: "Missing prices that open bets need",
    measure: gauge("node_price_slots_needed"),
    bound: { op: ">", limit: 0 },
    severity: "critical",
    isBesideHealth: true,
    message: "Open bets on {market} need prices that are missing; checkpoints without one: {value}",
    effect: "users cannot win these bets, and their money stays locked after they end",
    firstStep: "Before these bets end, fill the last 15 minutes, or more, with an admin's key: " +
      "`from=$(date -Is -d '15 minutes ago') && rangemaker backfill --market {market} " +
      '--from "$from" --to "$(date -Is)" --max-carry-ms 60000`.',
  },
  {
    name: "NodeNeedsBackfill",
    title: "Ended bets without an outcome",
    measure: gauge("node_theses_without_prices"),
    bound: { op: ">", limit: 0 },
    severity: "critical",
    isBesideHealth: true,
    message: "Ended bets that cannot be settled, since prices are missing: {value}",
    effect: "stakes and payouts of these bets stay locked",
    firstStep:
      "Fill the prices that each lacks, with the admin's key: `rangemaker backfill --thesis <id>`.",
  },
  {
    name: "NodeStorageFailed",
    title: "Storage is writable",
    ...whenFalse("node_storage_writable"),
    severity: "critical",
    message: "It can store nothing: no deposit, no bet, no settlement",
    isRootCause: true,
    firstStep: "Free space on its disk; `GET /health` shows the error.",
  },
];
