// Runs oidc-provider on a free loopback port, with a user who logs in and consents at once, and a command that is
// given the issuer in TOOLWRIGHT_OIDC_ISSUER. Its exit code is that of the command; it fails as well if the
// server did not see the grants that the command must have used.

import { spawn } from "node:child_process";
import http from "node:http";
import Provider from "oidc-provider";

const server = http.createServer();
server.listen(0, "127.0.0.1", async () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const resource = `${issuer}/mcp`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "machine",
        client_secret: "sk +%&:x",
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
        token_endpoint_auth_method: "client_secret_basic",
      },
    ],
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, indicator) => {
          if (indicator !== resource) throw new Error("unknown resource");
          return { scope: "read write", audience: resource, accessTokenFormat: "opaque" };
        },
      },
    },
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    pkce: { required: () => true },
    ttl: { AccessToken: 3600, ClientCredentials: 3600, RefreshToken: 86400, Grant: 86400, Session: 3600, Interaction: 600 },
    cookies: { keys: ["only for this test"] },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  });
  const grants = {};
  provider.on("grant.success", (ctx) => {
    const name = ctx.oidc.params.grant_type;
    grants[name] = (grants[name] ?? 0) + 1;
  });
  provider.on("server_error", (_, error) => console.error(error));
  provider.on("authorization.error", (_, error) => console.error(error));

  server.on("request", async (request, response) => {
    if (!request.url.startsWith("/interaction/")) return provider.callback()(request, response);
    try {
      const details = await provider.interactionDetails(request, response);
      if (details.prompt.name === "login") {
        const result = { login: { accountId: "user" } };
        return await provider.interactionFinished(request, response, result);
      }
      const grant = new provider.Grant({ accountId: "user", clientId: details.params.client_id });
      grant.addOIDCScope("openid offline_access");
      grant.addResourceScope(resource, "read write");
      const result = { consent: { grantId: await grant.save() } };
      await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
    } catch (error) {
      console.error(error);
      response.statusCode = 500;
      response.end();
    }
  });
  const [program, ...words] = process.argv.slice(2);
  const env = { ...process.env, TOOLWRIGHT_OIDC_ISSUER: issuer };
  const child = spawn(program, words, { env, stdio: "inherit" });
  child.on("exit", (code) => {
    const seen = JSON.stringify(grants);
    const wanted = JSON.stringify({ authorization_code: 1, refresh_token: 2, client_credentials: 1 });
    if (seen !== wanted) console.error(`the server granted ${seen} and not ${wanted}`);
    process.exit(code === 0 && seen === wanted ? 0 : 1);
  });
});
