import {
  absolute,
  atLeast,
  gauge,
  increase,
  lowestOverTime,
  matching,
  minus,
  ratio,
  shareOf,
  shareOfHighest,
  shareOfRate,
  union,
} from "./measure.ts";
import { type Problem, whenFalse } from "./problem.ts";

/** Problems that make the health checks of bridge and solver fail. */
export const STORES: readonly Problem[] = [
  {
    name: "HealthFailed",
    title: "Failed health checks",
    measure: union(gauge("bridge_problem"), gauge("solver_problem")),
    bound: { op: ">", limit: 0 },
    severity: "critical",
    afterS: 15,
    message: "Its health has failed: {code}",
    isRootCause: true,
    firstStep: "Follow the reason in `GET /health`; the runbook explains its code.",
  },
];

export const BRIDGE: readonly Problem[] = [
  {
    name: "BridgeRefusesDeposits",
    title: "Deposit requests answered with 5xx",
    measure: shareOfRate("bridge_deposit_requests_total", "5m", { status: /5../ }),
    bound: { op: ">", limit: 0.1 },
    unit: "share",
    severity: "critical",
    isBesideHealth: true,
    afterS: 120,
    message: "It answers {value} of the deposit requests with 5xx",
    firstStep: "The `code` of the answers names the database or the node.",
  },
  {
    name: "BridgeNotRelayer",
    title: "Has the relayer permission",
    ...whenFalse("bridge_relayer_permitted"),
    severity: "critical",
    afterS: 15,
    message: "Its account lacks the relayer permission: the node refuses its deposits",
    isRootCause: true,
    firstStep:
      "If it is the wrong account, correct the key of the bridge; else start the node with it " +
      "among its `--relayers`.",
  },
  {
    name: "BridgeDepositsStuck",
    title: "Deposits that stay pending",
    measure: lowestOverTime("bridge_deposits_pending", "1m"),
    bound: { op: ">", limit: 0 },
    severity: "critical",
    afterS: 240,
    message: "Deposits stay pending without a break",
    effect: "users wait for money that they have deposited",
    firstStep: "`GET /ready` of the bridge shows what is missing.",
  },
  {
    name: "BridgeDepositsFail",
    title: "Failed deposits",
    measure: increase("bridge_deposits_total", "10m", { labels: { outcome: "failed" } }),
    bound: { op: ">", limit: 0 },
    severity: "critical",
    isBesideHealth: true,
    message: "{value} deposits have failed for good in 10 minutes",
    effect: "users have not got the money of these deposits",
    firstStep: "`GET /deposits/<user>` of the bridge shows the code of each.",
  },
];

/** Refusals of signed bets that the solver or its environment causes, not the user. */
const SOLVER_CAUSED_REFUSALS =
  /BALANCE_TOO_LOW|EXPOSURE_TOO_LARGE|EXPOSURE_UNKNOWN|PRICE_STALE|STORE_.*|NODE_.*|OUTCOME_UNKNOWN|INTERNAL_ERROR/;

/**
 * A difference of more than `errors` standard errors plus `share` is not chance. Some thirty
 * forecasts are watched: that one of them exceeds four errors by chance is about as rare as that a
 * given one exceeds three. With less than `countMin`, the standard error itself is unknown.
 */
export const CALIBRATION = { errors: 4, share: 0.03, countMin: 20 } as const;

/** Shares of the maximum loss that are nearly all of it, and as good as all. */
export const EXPOSURE_LIMITS = { high: 0.8, full: 0.95 } as const;

/** The share of the maximum loss that is at risk; no value without a limit. */
const EXPOSURE = {
  measure: ratio(gauge("solver_exposure_usdc"), gauge("solver_exposure_limit_usdc")),
  unit: "share",
  afterS: 60,
  message: "Its open bets use {value} of its maximum loss",
  isRootCause: true,
  firstStep: "Wait for settlements, or raise `--max-exposure`.",
} satisfies Partial<Problem>;

export const SOLVER: readonly Problem[] = [
  {
    ...EXPOSURE,
    name: "SolverExposureHigh",
    title: "Used of the limit of open bets",
    bound: { op: ">", limit: EXPOSURE_LIMITS.high },
    severity: "warning",
  },
  {
    ...EXPOSURE,
    name: "SolverExposureFull",
    bound: { op: ">", limit: EXPOSURE_LIMITS.full },
    severity: "critical",
    isBesideHealth: true,
    effect: "large bets are refused, and soon all of them",
  },
  {
    name: "SolverBalanceLow",
    title: "Money for new bets",
    measure: shareOfHighest("solver_balance_usdc", "solver_locked_usdc", "1d"),
    bound: { op: "<", limit: 0.1 },
    unit: "share",
    severity: "critical",
    afterS: 60,
    message: "It has {value} of its money left for new bets",
    isRootCause: true,
    effect: "large bets are refused, and soon all of them",
    firstStep: "Wait for settlements, lower `--max-exposure`, or deposit.",
  },
  {
    name: "SolverRefusesBets",
    title: "Signed bets that it cannot accept",
    measure: shareOf("solver_execute_answers_total", "5m", { outcome: SOLVER_CAUSED_REFUSALS }),
    breakdown: increase("solver_execute_answers_total", "5m", {
      labels: { outcome: SOLVER_CAUSED_REFUSALS },
      by: ["outcome"],
    }),
    bound: { op: ">", limit: 0.1 },
    unit: "share",
    severity: "critical",
    afterS: 120,
    message: "It refuses {value} of the signed bets for reasons of its own",
    effect: "users sign bets and do not get them; nothing is taken",
    firstStep: "`EXPOSURE_TOO_LARGE`: wait for settlements or raise `--max-exposure`. " +
      "`BALANCE_TOO_LOW`: deposit. “Quotes and refusals” of the Maker page explains the others.",
  },
  {
    name: "SolverExecutionsFail",
    title: "Executions that fail",
    measure: shareOfRate("solver_executions_total", "10m", { outcome: "failed" }),
    bound: { op: ">", limit: 0.1 },
    unit: "share",
    severity: "critical",
    isBesideHealth: true,
    afterS: 300,
    message: "{value} of its executions fail",
    effect: "users sign bets and do not get them; nothing is taken",
    firstStep: "The result of each has a code.",
  },
  {
    name: "SolverWithoutPrices",
    title: "Quotes without a price",
    measure: shareOfRate("solver_quotes_total", "1m", {
      outcome: /(PRICE|VOLATILITY|HISTORY)_UNAVAILABLE/,
    }),
    bound: { op: ">", limit: 0.1 },
    unit: "share",
    severity: "critical",
    afterS: 120,
    warmUpS: 90,
    message: "It has no price for {value} of the quotes",
    firstStep: "Check `--ws-url` and the node's prices; after a first start, wait a minute.",
  },
  {
    name: "SolverProbabilitiesWrong",
    title: "Probabilities off by more than chance",
    measure: matching(
      minus(
        absolute(gauge("solver_calibration_difference")),
        gauge("solver_calibration_error"),
        CALIBRATION.errors,
      ),
      "and",
      atLeast(CALIBRATION.countMin, gauge("solver_calibration_windows")),
      "market",
      "horizon_seconds",
    ),
    bound: { op: ">", limit: CALIBRATION.share },
    unit: "share",
    severity: "warning",
    afterS: 600,
    message:
      "Boxes on {market} over {horizon_seconds} s hold more or less often than the predicted " +
      "{predicted}: {value} beyond chance",
    isRootCause: true,
    firstStep: "Compare its prices with an exchange; raise `--margin` if too many boxes hold.",
  },
  {
    name: "SolverExposureUnknown",
    title: "Knows its open bets",
    ...whenFalse("solver_exposure_complete"),
    severity: "warning",
    afterS: 60,
    message: "It does not know all its open theses",
    firstStep: "Check that the proxy or node at `--ws-url` answers.",
  },
];
