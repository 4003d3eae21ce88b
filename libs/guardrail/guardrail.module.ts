import { Module } from '@nestjs/common';
import { EgressModule } from '#egress/egress.module.js';
import { Guardrail } from './guardrail.js';

/** The check before anything is sent to a provider. */
@Module({ imports: [EgressModule], providers: [Guardrail], exports: [Guardrail] })
export class GuardrailModule {}
