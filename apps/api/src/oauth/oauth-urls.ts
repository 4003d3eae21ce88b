import { Injectable } from '@nestjs/common';
import { ApiConfig, publicUrlOf } from '../common/api.config.js';

/** Permission of the clients, and of their keys. */
export const OAUTH_SCOPE = 'images';

/** Addresses of the service as an authorization server, and as the one resource that its tokens are for. */
@Injectable()
export class OAuthUrls {
  readonly issuer: string;
  readonly resource: string;

  constructor(config: ApiConfig) {
    this.issuer = publicUrlOf(config);
    this.resource = resourceOf(this.issuer);
  }
}

/** The address of the MCP server. */
export function resourceOf(publicUrl: string): string {
  return `${publicUrl}/mcp`;
}
