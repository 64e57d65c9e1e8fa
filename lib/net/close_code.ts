/** Close codes of WebSockets (RFC 6455, section 7.4, and its registry). */
export const CloseCode = {
  tooBig: 1009,
  internalError: 1011,
  serviceRestart: 1012,
  tryAgainLater: 1013,
} as const;
