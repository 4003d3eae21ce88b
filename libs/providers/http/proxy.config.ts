import { IsOptional, Matches } from 'class-validator';
import { Setting } from '#config/setting.js';

/** The proxy for calls to providers, for networks without direct access. */
export class ProviderProxyConfig {
  @Setting(
    'PROVIDER_PROXY',
    'Forward proxy for all calls of providers but ComfyUI, images and chats: http://user:password@host:port; unset = direct.',
    { unit: 'URL', secret: true },
  )
  @IsOptional()
  @Matches(/^https?:\/\/[^\s/?#]+\/?$/, { message: 'PROVIDER_PROXY must look like http://user:password@host:port' })
  readonly providerProxy?: string;

  @Setting(
    'PROVIDER_NO_PROXY',
    'Hosts of providers, each with its subdomains, that are reached without PROVIDER_PROXY.',
    {
      list: true,
    },
  )
  readonly providerNoProxy: string[] = [];
}
