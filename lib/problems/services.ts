import {
  absolute,
  changes,
  type Figures,
  gauge,
  increase,
  matching,
  minus,
  quantile,
  rate,
  ratio,
} from "./measure.ts";
import type { Problem } from "./problem.ts";

export const SERVICE_DOWN = {
  name: "ServiceDown",
  title: "Answers scrapes",
  measure: gauge("up"),
  bound: { op: "==", limit: 0 },
  severity: "critical",
  afterS: 30,
  message: "It does not answer",
  firstStep: "Start it again: it continues where it stopped.",
  commandsByWay: {
    "In containers": "docker compose restart {service}",
    "Under systemd": "systemctl restart rangemaker-one@{service}",
    "From a terminal, if it was stopped": "kill -CONT {pid}",
    "From a terminal, if it hangs (then start it there again)": "kill -KILL {pid}",
  },
} satisfies Problem;

export const SERVICES: readonly Problem[] = [
  SERVICE_DOWN,
  {
    name: "ServiceRestarting",
    title: "Starts",
    measure: changes("process_start_time_seconds", "15m"),
    bound: { op: ">", limit: 2 },
    severity: "warning",
    message: "It has started {value} times in 15 minutes",
    firstStep:
      "Read its last log line before each start: a supervisor restarts it, and it ends again.",
  },
  {
    name: "MemoryHigh",
    title: "Memory",
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
    measure: gauge("proxy_broadcast_upstream_connected"),
    bound: { op: "==", limit: 0 },
    isFlag: true,
    severity: "critical",
    afterS: 30,
    message: "It has no WebSocket to the read node: clients get no notifications",
    effect: "pages show no new prices, and bets that end are not reported",
    firstStep: "Ask the read node itself; if it answers, check `--read-node-ws-url`.",
  },
  {
    name: "ProxyReconnecting",
    title: "Reconnects to the read node",
    measure: increase("proxy_broadcast_reconnects_total", "10m"),
    bound: { op: ">", limit: 5 },
    severity: "warning",
    message: "It has lost its connection to the read node {value} times in 10 minutes",
    firstStep: "Look for an idle limit between them, or a node that disconnects slow readers.",
  },
  {
    name: "ProxyReadNodeOut",
    title: "Read nodes are in use",
    measure: gauge("proxy_read_node_up"),
    bound: { op: "==", limit: 0 },
    isFlag: true,
    severity: "warning",
    afterS: 120,
    message: "It does not use its read node {node}",
    firstStep: "`GET /health` of the proxy says why.",
  },
  {
    name: "ProxyUpstreamErrors",
    title: "Requests without an answer, a second",
    measure: rate("proxy_upstream_errors_total", "5m", { by: ["target"] }),
    bound: { op: ">", limit: 0.1 },
    severity: "critical",
    afterS: 120,
    message: "The {target} node leaves {value} requests a second without an answer",
    effect: "pages show no bets and balances, or old ones",
    firstStep: "Ask that node directly.",
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
  {
    name: "ProxySlow",
    title: "99th percentile of request time",
    measure: quantile(0.99, "proxy_http_request_duration_seconds", "target"),
    bound: { op: ">", limit: 1 },
    unit: "seconds",
    severity: "warning",
    afterS: 600,
    message: "One in a hundred {target} requests takes {value}",
    firstStep: "Compare `proxy_upstream_latency_seconds`: if it is as slow, the node is the cause.",
  },
];

/** The pairs without a price. */
const WITHOUT_PRICE = matching(
  gauge("oracle_sources"),
  "unless",
  gauge("oracle_price_age_seconds"),
  "pair",
);

const NO_NEW_BETS = "no new bets on these markets; bets that end there wait for a backfill";

/** The effect of sources that are lost: none while each pair has a price. */
const effectOfLostSources = (figures: Figures) =>
  WITHOUT_PRICE.read(figures).length === 0
    ? "none yet: prices go on with the others"
    : "no fresh prices, so no new bets on markets without a price; bets that end there wait for a " +
      "backfill";

export const ORACLE: readonly Problem[] = [
  {
    name: "OraclePairWithoutPrice",
    title: "Pairs without a price",
    measure: WITHOUT_PRICE,
    bound: { op: ">", limit: -1 },
    severity: "critical",
    afterS: 15,
    message: "No price of {pair}: too few sources, or a jump that only one source has made",
    effect: NO_NEW_BETS,
    firstStep: "`GET /providers` shows the connection and the last error of each source.",
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
    effect: NO_NEW_BETS,
    firstStep: "Set `--max-source-age-ms` below 3000.",
  },
  {
    name: "OracleFewSources",
    title: "Fewest sources of a pair",
    measure: gauge("oracle_sources"),
    bound: { op: "<", limit: 3 },
    severity: "warning",
    afterS: 300,
    message: "{value} sources are left for {pair}",
    effect: effectOfLostSources,
    firstStep: "`GET /providers` shows the connection and the last error of each source.",
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
    name: "OracleProviderSilent",
    title: "Prices of the slowest source, a second",
    measure: rate("oracle_trades_total", "5m", { by: ["provider"] }),
    bound: { op: "==", limit: 0 },
    severity: "warning",
    afterS: 120,
    message: "No prices from {provider}",
    effect: effectOfLostSources,
    firstStep: "`GET /providers` shows its last error.",
  },
];

export const NODE: readonly Problem[] = [
  {
    name: "NodeStopped",
    title: "New blocks",
    measure: changes("node_block_number", "30s"),
    bound: { op: "==", limit: 0 },
    severity: "critical",
    afterS: 15,
    message: "It seals no blocks",
    effect: "no bets, no settlements and no deposits",
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
    firstStep: "If the oracle works, bring it nearer: a pull has 10 ms.",
  },
  {
    name: "NodePricesStale",
    title: "Prices are fresh",
    measure: gauge("node_price_fresh"),
    bound: { op: "==", limit: 0 },
    isFlag: true,
    severity: "critical",
    afterS: 15,
    message: "No fresh price of {market}: it accepts no bets there",
    effect: NO_NEW_BETS,
    firstStep: "Its log has the reason of the last pull that failed, and so has its method " +
      "`core_getOracleStatus`.",
  },
  {
    name: "NodePricesMissing",
    title: "Missing prices that open bets need",
    measure: gauge("node_price_slots_needed"),
    bound: { op: ">", limit: 0 },
    severity: "critical",
    message: "Open bets on {market} need the prices of {value} checkpoints that have none",
    effect: "users cannot win these bets, and their money stays locked after they end",
    firstStep: "Before these bets end, fill the gap with an admin's key: " +
      "`deno task -q backfill --market <symbol> --from <time> --to <time>`.",
  },
  {
    name: "NodeNeedsBackfill",
    title: "Ended bets without an outcome",
    measure: gauge("node_theses_without_prices"),
    bound: { op: ">", limit: 0 },
    severity: "critical",
    message: "Ended bets that cannot be settled, since prices are missing: {value}",
    effect: "stakes and payouts of these bets stay locked",
    firstStep:
      "Fill the prices that each lacks, with the admin's key: `deno task -q backfill --thesis <id>`.",
  },
  {
    name: "NodeStorageFailed",
    title: "Storage is writable",
    measure: gauge("node_storage_writable"),
    bound: { op: "==", limit: 0 },
    isFlag: true,
    severity: "critical",
    message: "It can store nothing: no deposit, no bet, no settlement",
    isRootCause: true,
    effect: "no bets, no settlements and no deposits",
    firstStep: "Free space on its disk; `GET /health` shows the error.",
  },
];
