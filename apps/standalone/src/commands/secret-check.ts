import { outdatedEndUserSecrets } from '#accounts/end-user-secrets.js';
import { secretUse } from '#accounts/secret-use.js';
import { SECOND_FACTORS, SecondFactorStore } from '#accounts/second-factor-store.js';
import type { PrismaService } from '#database/prisma.service.js';
import { PROVIDER_KEYS, ProviderKeyStore } from '#catalog/provider-key-store.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { WEBHOOK_SECRETS, WebhookSecretStore } from '#notifications/secret-store.js';

interface Secrets {
  readonly secretKey: string;
  readonly secretKeyPrevious?: string | undefined;
}

/**
 * What still depends on the previous SECRET_KEY, and whether it can be removed. Throws when API keys depend on a
 * SECRET_KEY that is not set.
 */
export async function secretRotation(database: PrismaService, secrets: Secrets): Promise<string> {
  const use = Object.entries(await secretUse(database, secrets));
  const webhooks = await new WebhookSecretStore(database, new TextSealer(secrets, WEBHOOK_SECRETS)).use();
  const providerKeys = await new ProviderKeyStore(database, new TextSealer(secrets, PROVIDER_KEYS)).outdated();
  const secondFactors = await new SecondFactorStore(database, new TextSealer(secrets, SECOND_FACTORS)).outdated();
  const endUsers = await outdatedEndUserSecrets(database, secrets);
  const lost = use.find(([kind]) => kind === 'API keys')?.[1].other ?? 0;
  if (lost > 0)
    throw new Error(
      `${lost} API keys were created with a SECRET_KEY that is not set; set it as SECRET_KEY_PREVIOUS, or revoke them`,
    );
  const left = use.map(([kind, { previous }]) => [kind, previous] as const);
  const sealed = [
    ['webhook secrets', webhooks.outdated],
    ['provider keys', providerKeys],
    ['authenticator apps', secondFactors],
    ['secrets of end users', endUsers],
  ] as const;
  const all = [...left, ...sealed].filter(([, count]) => count > 0);
  const text = all.map(([kind, count]) => `${kind}: ${count}`).join(', ');
  if (secrets.secretKeyPrevious === undefined)
    return all.length === 0
      ? 'all keys and secrets use SECRET_KEY'
      : `encrypted with a SECRET_KEY that is not set: ${text}`;
  if (all.length > 0) return `keep SECRET_KEY_PREVIOUS, not yet used under SECRET_KEY: ${text}`;
  return 'nothing needs SECRET_KEY_PREVIOUS: swap the two, or remove it LINK_TTL_SECONDS and UPLOAD_RETENTION_HOURS after the swap';
}
