import assert from "node:assert/strict";
import { requireDeno } from "../../../lib/cli/deno_version.ts";

Deno.test("requireDeno: refuses an older Deno than 2.9, by numbers and not by text", () => {
  for (const version of ["2.9.0", "2.9.6", "2.10.0", "3.0.0-rc.1"]) requireDeno(version);
  requireDeno();
  for (const version of ["2.8.3", "2.4.0", "1.46.3"]) {
    assert.throws(() => requireDeno(version), {
      code: "DENO_TOO_OLD",
      message: new RegExp(`^Deno ${version} is too old: expected 2\\.9\\.0 or newer, `),
    });
  }
});
