/** Faults of connections and streams; the names are values of a metric's label. */
export const FAULTS = {
  not_opened: "the connection could not be opened in time",
  closed: "the exchange closed the connection",
  silent: "the connection is open but delivers no frames",
  not_acknowledged: "some markets were not acknowledged in time",
  refused: "the exchange refused a subscription",
  stream_silent: "a subscribed market delivers no trades on a working connection",
  stuck_time: "prices keep arriving, but the exchange's time does not advance",
  sequence_gap: "a message was lost",
  sequence_restart: "the exchange's trade numbers started again",
  shutdown_notice: "the exchange will close the connection soon, or has stopped trading",
  lifetime: "the connection reached the age at which it is replaced",
} as const;

export type Fault = keyof typeof FAULTS;

/**
 * The response to a fault: `drop` closes the connection and removes its prices; `replace` opens a
 * second connection that takes over once subscribed; `note` only counts and logs.
 */
export type Remedy = "drop" | "replace" | "note";
