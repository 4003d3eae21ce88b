import { IsBoolean, IsOptional, IsString } from 'class-validator';
import { Setting } from '#config/setting.js';

export class SandboxConfig {
  @Setting('NODE_ENV', 'With production, prompts can order no latency and no fault from the sandbox unless it is said.')
  @IsString()
  readonly nodeEnv: string = 'development';

  @Setting(
    'SANDBOX_DIRECTIVES',
    'Whether prompts may order latency and faults, a crash of the worker among them; unset means not in production.',
    { unit: 'true or false' },
  )
  @IsOptional()
  @IsBoolean()
  readonly directives?: boolean;
}

/** Whether [[directives]] in prompts are obeyed. */
export function obeysDirectives(config: SandboxConfig): boolean {
  return config.directives ?? config.nodeEnv !== 'production';
}
