import type { ContentfulStatusCode } from "hono/utils/http-status";

/** HTTP statuses by error code. A code that is not listed is a fault of our own: 500. */
export type ErrorStatuses = Readonly<Record<string, ContentfulStatusCode>>;

/** Codes of every HTTP API; services add their own. */
export const COMMON_STATUSES = {
  INVALID_REQUEST: 400,
  ORIGIN_NOT_ALLOWED: 403,
  HOST_NOT_ALLOWED: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  BODY_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  UPGRADE_REQUIRED: 426,
  RATE_LIMITED: 429,
} as const satisfies ErrorStatuses;

/** HTTP status of an error code, or undefined for a fault of our own. */
export function statusOfCode(
  code: string,
  statuses: ErrorStatuses = COMMON_STATUSES,
): ContentfulStatusCode | undefined {
  return Object.hasOwn(statuses, code) ? statuses[code] : undefined;
}
