import assert from "node:assert/strict";

/** Files of a private authority and of its certificate for `localhost` and 127.0.0.1. */
export interface Certificate {
  /** Path of the authority's certificate, for `DENO_CERT`. */
  authority: string;
  cert: string;
  key: string;
}

/**
 * Makes a certificate with `openssl`, for a test that may run only where there is one.
 *
 * @param names Further names in it.
 */
export async function withCertificate(
  test: (made: Certificate) => Promise<void>,
  names: readonly string[] = [],
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const openssl = async (...args: string[]) => {
    const { success, stderr } = await new Deno.Command("openssl", { args, cwd: folder }).output();
    assert(success, new TextDecoder().decode(stderr));
  };
  try {
    const alternatives = ["DNS:localhost", "IP:127.0.0.1", ...names.map((name) => `DNS:${name}`)];
    const name = `subjectAltName=${alternatives.join(",")}`;
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    await openssl("req", "-x509", ...key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca");
    await openssl("req", ...key, "-keyout", "key.pem", "-out", "a.csr", "-subj", "/CN=localhost");
    await Deno.writeTextFile(`${folder}/extensions`, name);
    const sign = ["-CA", "ca.pem", "-CAkey", "ca.key", "-extfile", "extensions"];
    await openssl("x509", "-req", "-in", "a.csr", ...sign, "-days", "2", "-out", "cert.pem");
    await test({
      authority: `${folder}/ca.pem`,
      cert: await Deno.readTextFile(`${folder}/cert.pem`),
      key: await Deno.readTextFile(`${folder}/key.pem`),
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
