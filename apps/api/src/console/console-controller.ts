import { applyDecorators, Controller, UseGuards } from '@nestjs/common';
import { ApiCookieAuth, ApiTags } from '@nestjs/swagger';
import { AbilitiesGuard } from './abilities.guard.js';
import { CONSOLE_API } from './protect-console.js';
import { SessionGuard } from './session.guard.js';

/** A controller of the console's API: its handlers need a session and the ability that they declare. */
export function ConsoleController(tag: string, path = ''): ClassDecorator {
  return applyDecorators(
    Controller(`${CONSOLE_API}/${path}`.slice(1).replace(/\/$/, '')),
    UseGuards(SessionGuard, AbilitiesGuard),
    ApiTags(tag),
    ApiCookieAuth(),
  );
}
