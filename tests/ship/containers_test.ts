/** compose.yaml as containers, where podman can run. */
import assert from "node:assert/strict";
import { fileUrl, hasProgram, run } from "./support.ts";

/** Whether podman is here, and this process may make the namespaces and mounts that it needs. */
function canRunContainers(): boolean {
  const programs = ["podman", "podman-compose", "crun", "prometheus"];
  if (!programs.every((program) => hasProgram(program, "--version"))) return false;
  const script = "ip link set lo up && mount -t tmpfs tmpfs /run && " +
    "{ umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; }";
  const { success } = new Deno.Command("unshare", {
    args: ["--mount", "--pid", "--net", "--ipc", "--fork", "--mount-proc", "bash", "-c", script],
    stdout: "null",
    stderr: "null",
  }).outputSync();
  return success;
}

Deno.test({
  name: "compose.yaml as containers: a bet, restarts, down and up",
  ignore: !canRunContainers(),
  timeout: 420_000,
  async fn() {
    const { code, text } = await run(Deno.execPath(), ["task", "--quiet", "containers"], {
      cwd: fileUrl(".").pathname,
    });
    assert.equal(code, 0, text);
    assert.match(text, /bet (won|lost)[^]*targets of Prometheus up[^]*killed[^]*the same balances/);
  },
});
