import { ArrayNotEmpty, IsOptional, IsString, Matches, Validate, ValidatorConstraint } from 'class-validator';
import ipaddr from 'ipaddr.js';
import { Setting, Within } from '#config/setting.js';

@ValidatorConstraint()
class CidrList {
  validate(value: unknown): boolean {
    return Array.isArray(value) && value.every((text: string) => ipaddr.isValidCIDR(text));
  }

  defaultMessage(): string {
    return 'EGRESS_ALLOW_CIDRS must list networks like 10.1.0.0/16,fd00:1::/32';
  }
}

/** Which addresses the URLs of users and providers may lead to. */
export class EgressConfig {
  @Setting(
    'NODE_ENV',
    'In production, loopback and link-local addresses are never reached, whatever else is allowed.',
    { who: 'processes' },
  )
  @IsString()
  readonly nodeEnv: string = 'development';

  @Setting('EGRESS_ALLOW_CIDRS', 'Private networks that image URLs and callbacks are allowed to reach.', {
    who: 'rules',
    list: true,
    unit: 'CIDR list',
  })
  @Validate(CidrList)
  readonly allowCidrs: string[] = [];

  @Setting('EGRESS_PORTS', 'Ports that image URLs and callbacks are allowed to use.', {
    who: 'rules',
    list: true,
    unit: 'port list',
  })
  @ArrayNotEmpty({ message: 'EGRESS_PORTS must list at least one port' })
  @Matches(/^[1-9]\d{0,4}$/, { each: true, message: 'EGRESS_PORTS must list port numbers' })
  readonly ports: string[] = ['80', '443'];

  @Setting(
    'EGRESS_PROXY',
    'Filtering proxy for image URLs and callbacks. It resolves their host names and must reject private networks; unset = direct connections, to checked addresses.',
    { who: 'rules', unit: 'URL', secret: true },
  )
  @IsOptional()
  @Matches(/^https?:\/\/[^\s/?#]+\/?$/, { message: 'EGRESS_PROXY must look like http://user:password@host:port' })
  readonly egressProxy?: string;

  @Setting('EGRESS_CONNECT_TIMEOUT_MS', 'Time limit from opening a URL to the first byte of its response.', {
    who: 'debugging',
    unit: 'ms',
  })
  @Within(50)
  readonly connectTimeoutMs: number = 10_000;
}
