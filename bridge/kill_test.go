package bridge_test

const bridgeProcess = "STRABO_TEST_KILLED_BRIDGE"

func runKilledBridge() int { return 1 }
