import { publicUrlOf, type ApiConfig } from '../../common/api.config.js';
import { CONSOLE_API } from '../protect-console.js';

/** Where a sign-in with the provider starts; it ends at `/callback` below it, which is registered with the provider. */
export function openIdUrl(config: ApiConfig): string {
  return `${publicUrlOf(config)}${CONSOLE_API}/oidc`;
}
