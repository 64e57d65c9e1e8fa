/** Checks of `rangemaker doctor` for the bridge. */
import { dirname, relative } from "node:path";
import { z } from "zod";
import {
  type Check,
  type CheckContext,
  ok,
  optionLabel,
  warn,
} from "../../lib/cli/checks/check.ts";
import {
  nodeCheck,
  nodeClockCheck,
  permissionOnNodeCheck,
} from "../../lib/cli/checks/core_node.ts";
import { keyCheck } from "../../lib/cli/checks/key.ts";
import { needsOfPort, needsOfUrls, permissionCheck } from "../../lib/cli/checks/permissions.ts";
import { portCheck } from "../../lib/cli/checks/port.ts";
import { needsOfStore, storeCheck } from "../../lib/cli/checks/store.ts";
import type { Signer } from "../../lib/protocol/signature.ts";
import { signerFrom } from "../../lib/cli/keystore.ts";
import { type BridgeOptions, options } from "./options.ts";

export { options };

/** Folder that `deno task bridge` may read. */
const TASK_FOLDER = "data";

const healthSchema = z.object({ status: z.string(), rpc: z.boolean(), bridge: z.string() });

/** Checks everything that the options of the bridge name. */
export function checks(given: Partial<BridgeOptions>, context: CheckContext): Check[] {
  const { host, port, rpcUrl, chainId, database, keystore, keystorePasswordFile } = given;
  const keyFiles = [keystore, keystorePasswordFile].filter((path) => path !== undefined);
  const signer = signerOnce(given);
  const all = [
    permissionCheck(
      options,
      needsOfPort(host, port),
      needsOfUrls(rpcUrl),
      needsOfStore(database),
      { read: keyFiles },
    ),
    keyCheck(signer, options.privateKey),
  ];
  if (keyFiles.length > 0) all.push(keyFilesCheck(keyFiles));
  if (rpcUrl !== undefined) {
    const node = { url: rpcUrl, option: options.rpcUrl };
    all.push(
      nodeCheck("node", node, context, chainId),
      permissionOnNodeCheck("relayer", signer, node, context),
      nodeClockCheck(node, context),
    );
  }
  if (database !== undefined) {
    all.push(storeCheck(database, "bridge", options.database, context));
  }
  if (host !== undefined && port !== undefined) {
    const { port: option } = options;
    all.push(portCheck("port", { host, port, option, health: healthSchema }, context));
  }
  return all;
}

/** `deno task bridge` may read `data` only, the task of the doctor everything. */
function keyFilesCheck(paths: readonly string[]): Check {
  return {
    subject: "key files",
    run() {
      const elsewhere = paths.filter((path) => relative(TASK_FOLDER, path).startsWith(".."));
      const names = elsewhere.join(", ");
      if (names === "") return Promise.resolve(ok(`In ${TASK_FOLDER}: ${paths.join(", ")}`));
      const folders = [...new Set(elsewhere.map((path) => dirname(path)))].join(",");
      return Promise.resolve(warn(
        `deno task bridge may read ${TASK_FOLDER} only, not ${names}`,
        `Move the file there, or start the bridge with deno run and --allow-read=${folders}`,
      ));
    },
  };
}

/** Opens the signer once for all checks: decrypting a keystore is slow on purpose. */
function signerOnce({ privateKey, keystore, keystorePasswordFile }: Partial<BridgeOptions>) {
  let opened: Promise<Signer> | undefined;
  const source = { privateKey, keystore, keystorePasswordFile };
  return () => opened ??= signerFrom(source, optionLabel(options.privateKey));
}
