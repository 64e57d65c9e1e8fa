import { RangemakerError } from "../errors.ts";

/** The oldest Deno on which a whole bet was played. */
const OLDEST = "2.9.0";

/**
 * Checks that this Deno is not too old: an older one fails somewhere inside, if at all.
 *
 * @throws {RangemakerError} `DENO_TOO_OLD`, with both versions.
 */
export function requireDeno(version = Deno.version.deno): void {
  if (version.localeCompare(OLDEST, "en", { numeric: true }) >= 0) return;
  throw new RangemakerError(
    "DENO_TOO_OLD",
    `Deno ${version} is too old: expected ${OLDEST} or newer, such as npx --yes deno@2.9.6`,
  );
}
