import { applyDecorators, Controller, UseGuards } from '@nestjs/common';
import { ApiCookieAuth, ApiTags } from '@nestjs/swagger';
import { CONSOLE_API } from './protect-console.js';
import { RolesGuard } from './roles.guard.js';
import { SessionGuard } from './session.guard.js';

/** A controller of the console's API: its handlers need a session, and the role they name. */
export function ConsoleController(tag: string, path = ''): ClassDecorator {
  return applyDecorators(
    Controller(`${CONSOLE_API}/${path}`.slice(1).replace(/\/$/, '')),
    UseGuards(SessionGuard, RolesGuard),
    ApiTags(tag),
    ApiCookieAuth(),
  );
}
