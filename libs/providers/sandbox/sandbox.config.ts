import { IsBoolean, IsOptional, IsString } from 'class-validator';
import { Setting } from '#config/setting.js';

/** Whether prompts may request faults and delays from the sandbox. */
export class SandboxConfig {
  @Setting('NODE_ENV', 'In production, the sandbox ignores directives in prompts unless SANDBOX_DIRECTIVES is true.', {
    who: 'processes',
  })
  @IsString()
  readonly nodeEnv: string = 'development';

  @Setting(
    'SANDBOX_DIRECTIVES',
    'Whether prompts may request latency and faults, including a crash of the worker; unset = not in production.',
    { who: 'debugging', unit: 'true or false' },
  )
  @IsOptional()
  @IsBoolean()
  readonly directives?: boolean;
}

/** Whether the sandbox obeys [[directives]] in prompts. */
export function obeysDirectives(config: SandboxConfig): boolean {
  return config.directives ?? config.nodeEnv !== 'production';
}
