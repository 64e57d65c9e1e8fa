-- Run by the PostgreSQL container when its volume is empty: each service has a database of its own,
-- and makes its tables itself.
CREATE DATABASE bridge;
CREATE DATABASE solver;
