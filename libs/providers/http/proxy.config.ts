import { IsOptional, Matches } from 'class-validator';
import { Setting } from '#config/setting.js';

/** The proxy for calls to providers, for networks without direct access. */
export class ProviderProxyConfig {
  @Setting(
    'PROVIDER_PROXY',
    'Forward proxy for image and chat calls to all providers except ComfyUI: http://user:password@host:port; unset = direct.',
    { who: 'rules', unit: 'URL', secret: true },
  )
  @IsOptional()
  @Matches(/^https?:\/\/[^\s/?#]+\/?$/, { message: 'PROVIDER_PROXY must look like http://user:password@host:port' })
  readonly providerProxy?: string;

  @Setting('PROVIDER_NO_PROXY', 'Provider hosts, including their subdomains, to reach without PROVIDER_PROXY.', {
    who: 'rules',
    list: true,
  })
  readonly providerNoProxy: string[] = [];
}
