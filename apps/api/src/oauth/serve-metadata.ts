import type { FastifyInstance } from 'fastify';
import { pathOfPublicUrl } from '#config/public-url.js';
import { OAUTH_SCOPE, resourceOf } from './oauth-urls.js';

const RESOURCE = '/.well-known/oauth-protected-resource';
const SERVER = '/.well-known/oauth-authorization-server';

/**
 * Tells clients of the MCP server who authorizes them (RFC 9728), and how (RFC 8414). Both standards put a path, such as
 * that of PUBLIC_URL, behind the well-known one.
 */
export function serveMetadata(server: FastifyInstance, publicUrl: string): void {
  const resource = resourceOf(publicUrl);
  const path = pathOfPublicUrl(publicUrl);
  const ofResource = {
    resource,
    authorization_servers: [publicUrl],
    scopes_supported: [OAUTH_SCOPE],
    bearer_methods_supported: ['header'],
    resource_name: 'Darkroom',
  };
  const ofServer = {
    issuer: publicUrl,
    authorization_endpoint: `${publicUrl}/console/authorize`,
    token_endpoint: `${publicUrl}/oauth/token`,
    registration_endpoint: `${publicUrl}/oauth/register`,
    revocation_endpoint: `${publicUrl}/oauth/revoke`,
    scopes_supported: [OAUTH_SCOPE],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    authorization_response_iss_parameter_supported: true,
  };
  for (const url of new Set([RESOURCE, `${RESOURCE}/mcp`, `${RESOURCE}${path}/mcp`]))
    server.get(url, { config: { public: true } }, (_request, reply) => reply.send(ofResource));
  for (const url of new Set([SERVER, `${SERVER}${path}`]))
    server.get(url, { config: { public: true } }, (_request, reply) => reply.send(ofServer));
}

/**
 * Has the refusals of routes that take access tokens say where to get one. Must be called before any route is registered.
 */
export function challengeClients(server: FastifyInstance, publicUrl: string): void {
  const challenge = `Bearer resource_metadata="${publicUrl}${RESOURCE}/mcp", scope="${OAUTH_SCOPE}"`;
  server.addHook('onRoute', (route) => {
    if (route.config?.accessTokens !== true) return;
    const others = [route.onSend ?? []].flat();
    route.onSend = [
      ...others,
      (request, reply, _payload, done) => {
        const isInvalid = request.headers.authorization === undefined ? '' : ', error="invalid_token"';
        if (reply.statusCode === 401) void reply.header('www-authenticate', challenge + isInvalid);
        done();
      },
    ];
  });
}
