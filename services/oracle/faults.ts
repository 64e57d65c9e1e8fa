/** What can be wrong with a connection or its streams; the names are the values of a metric's label. */
export const FAULTS = {
  not_opened: "a connection could not be opened, or not in time",
  closed: "the exchange closed the connection",
  silent: "the connection is open but brings no frame at all",
  not_acknowledged: "markets that no subscription stands for when the time to answer is over",
  refused: "the exchange refused a subscription",
  stream_silent: "a subscribed market brings no trade though the connection lives",
  stuck_time: "prices keep coming, but the exchange's time stands still",
  sequence_gap: "a message was lost",
  sequence_restart: "the exchange's count of trades began again",
  shutdown_notice: "the exchange is about to close the connection, or has stopped trading",
  lifetime: "the connection is as old as the exchange lets it become",
} as const;

/** One of {@link FAULTS}. */
export type Fault = keyof typeof FAULTS;

/**
 * What follows from a fault: the connection is given up and its prices with it; a second connection
 * is made and takes over once it stands; or it is only counted and told.
 */
export type Remedy = "drop" | "replace" | "note";
