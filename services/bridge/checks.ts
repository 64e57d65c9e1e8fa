/** What `rangemaker doctor` checks for the bridge. */
import { dirname, relative } from "node:path";
import { z } from "zod";
import { check, type Finding, ok, type ServiceChecks, warn } from "../../lib/cli/checks/check.ts";
import { tryNodeClock, tryPermission } from "../../lib/cli/checks/node.ts";
import { signerFrom } from "../../lib/cli/keystore.ts";
import { optionLabel } from "../../lib/cli/options.ts";
import { options } from "./options.ts";

/** The folder that `deno task bridge` may read. */
const TASK_FOLDER = "data";

export const checks: ServiceChecks<typeof options> = {
  service: "bridge",
  options,
  health: z.object({ status: z.string(), rpc: z.boolean(), bridge: z.string() }),
  openSigner: (values) => signerFrom(values, optionLabel(options.privateKey)),
  special({ rpcUrl, keystore, keystorePasswordFile }, context) {
    const keyFiles = [keystore, keystorePasswordFile].filter((path) => path !== undefined);
    return [
      check("key files", keyFiles.length > 0 ? keyFiles : undefined, tryKeyFiles),
      check("relayer", rpcUrl, (url) => tryPermission("relayer", url, context)),
      check("clock", rpcUrl, (url) => tryNodeClock(url, context)),
    ];
  },
};

/** The task of the bridge may read the key files. The task of the doctor may read every file. */
function tryKeyFiles(paths: readonly string[]): Finding {
  const outside = paths.filter((path) => relative(TASK_FOLDER, path).startsWith(".."));
  const names = outside.join(", ");
  if (names === "") return ok(`In ${TASK_FOLDER}: ${paths.join(", ")}`);
  const folders = [...new Set(outside.map((path) => dirname(path)))].join(",");
  return warn(
    `deno task bridge may read ${TASK_FOLDER} only, not ${names}`,
    `Move it there, or start the bridge with deno run and --allow-read=${folders} as well`,
  );
}
