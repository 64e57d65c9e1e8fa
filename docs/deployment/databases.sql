-- Run by the PostgreSQL container when its volume is empty: bridge and solver have a database and a user
-- each, and make their tables themselves. A password is in a secret file, or else in a variable.
\set bridge `cat /run/secrets/bridge_database_password 2>/dev/null || printf %s "$BRIDGE_DATABASE_PASSWORD"`
\set solver `cat /run/secrets/solver_database_password 2>/dev/null || printf %s "$SOLVER_DATABASE_PASSWORD"`
CREATE ROLE bridge LOGIN PASSWORD :'bridge';
CREATE ROLE solver LOGIN PASSWORD :'solver';
CREATE DATABASE bridge OWNER bridge;
CREATE DATABASE solver OWNER solver;
REVOKE CONNECT ON DATABASE bridge, solver FROM PUBLIC;
